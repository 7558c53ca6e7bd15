/* Calls from Python: arguments are checked and laid out as a kernel's frame, results come back as numbers.
 *
 * A kernel is int32_t f(int64_t *frame), see native/kernel_calls.py. `projected_control_bind` makes
 * a Python function of one. Of Python only the stable part of its interface is used, and of NumPy
 * only what the head of an array holds, which is the same from 1.x to 2.x: one library serves every
 * Python and NumPy. Both are declared here, so that their headers need not be there.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef intptr_t Py_ssize_t;
typedef struct object {
  Py_ssize_t references;
  struct object *type;
} PyObject;
typedef struct {
  const char *ml_name;
  void *ml_meth;
  int ml_flags;
  const char *ml_doc;
} PyMethodDef;
enum { METH_FASTCALL = 0x0080 };
static const unsigned long TUPLE_SUBCLASS = 1UL << 26; /* Py_TPFLAGS_TUPLE_SUBCLASS */

extern PyObject *PyExc_TypeError, *PyExc_RuntimeError, _Py_NoneStruct;
PyObject *PyErr_Format(PyObject *, const char *, ...);
PyObject *PyErr_Occurred(void);
PyObject *PyBool_FromLong(long);
PyObject *PyCapsule_New(void *, const char *, void (*)(PyObject *));
void *PyCapsule_GetPointer(PyObject *, const char *);
PyObject *PyCFunction_NewEx(PyMethodDef *, PyObject *, PyObject *);
double PyFloat_AsDouble(PyObject *);
PyObject *PyFloat_FromDouble(double);
long long PyLong_AsLongLong(PyObject *);
PyObject *PyLong_FromLongLong(long long);
PyObject *PyObject_GetAttrString(PyObject *, const char *);
int PyObject_IsTrue(PyObject *);
PyObject *PyTuple_GetItem(PyObject *, Py_ssize_t);
PyObject *PyTuple_New(Py_ssize_t);
int PyTuple_SetItem(PyObject *, Py_ssize_t, PyObject *);
Py_ssize_t PyTuple_Size(PyObject *);
unsigned long PyType_GetFlags(PyObject *);
void Py_DecRef(PyObject *);
void Py_IncRef(PyObject *);

struct description { /* the head of numpy.dtype */
  PyObject base;
  PyObject *scalar;
  char kind, letter, byteorder, flags;
  int type_num;
};
struct array { /* the head of numpy.ndarray */
  PyObject base;
  char *data;
  int nd;
  intptr_t *dimensions, *strides;
  PyObject *owner;
  struct description *descr;
  int flags;
};
enum { NPY_LONG = 7, NPY_LONGLONG = 9, NPY_DOUBLE = 12, C_CONTIGUOUS = 1, F_CONTIGUOUS = 2 };

static int is_tuple(PyObject *given) { return (PyType_GetFlags(given->type) & TUPLE_SUBCLASS) != 0; }

enum { LARGEST_FRAME = 256 };

struct parameter {
  char kind; /* 'a' array, 'd' double, 'i' integer, 'b' truth value, 't' doubles of a tuple, 'w' workspace */
  char number; /* of an array: 'd' or 'i' */
  char order; /* of an array: 'C' or 'F' */
  char count; /* dimensions of an array, members of a tuple, sizes of a workspace */
  const char *name;
  const char *attribute; /* of a workspace: where its parts keep their array and sizes */
};

struct kernel {
  PyMethodDef method;
  int32_t (*run)(int64_t *);
  int parameters, required;
  struct parameter parameter[64];
  double standard[64]; /* values of parameters that are left out */
  const char *result; /* its form, NULL for nothing */
  char *text;
};

static PyObject *array_type;

static int wrong(const struct kernel *k, const struct parameter *p, const char *expected) {
  PyErr_Format(PyExc_TypeError, "%s of %s must be %s", p->name, k->method.ml_name, expected);
  return 0;
}

static int take_array(const struct kernel *k, const struct parameter *p, PyObject *given, int64_t **field) {
  if (given->type != array_type) return wrong(k, p, "an array");
  const struct array *a = (const struct array *)given;
  if (a->nd != p->count) {
    PyErr_Format(PyExc_TypeError, "%s of %s must have %d dimensions, it has %d", p->name, k->method.ml_name, p->count, a->nd);
    return 0;
  }
  const int number = a->descr->type_num;
  if (p->number == 'd' ? number != NPY_DOUBLE : !(number == NPY_LONG || number == NPY_LONGLONG))
    return wrong(k, p, p->number == 'd' ? "an array of float64" : "an array of int64");
  if (p->order == 'C' && !(a->flags & C_CONTIGUOUS)) return wrong(k, p, "dense, row by row");
  if (p->order == 'F' && !(a->flags & F_CONTIGUOUS)) return wrong(k, p, "dense, column by column");
  int64_t *f = *field;
  *f++ = (int64_t)(intptr_t)a->data;
  for (int i = 0; i < p->count; ++i) *f++ = a->dimensions[i];
  *field = f;
  return 1;
}

static int take_double(PyObject *given, int64_t **field) {
  const double value = PyFloat_AsDouble(given);
  if (value == -1.0 && PyErr_Occurred()) return 0;
  memcpy((*field)++, &value, sizeof value);
  return 1;
}

/* Parts of a workspace know their array and sizes (workspace.py). */
static int take_workspace(const struct kernel *k, const struct parameter *p, PyObject *given, int64_t **field) {
  PyObject *frame = PyObject_GetAttrString(given, p->attribute);
  if (!frame) return wrong(k, p, "the parts of its own workspace");
  int right = is_tuple(frame) && PyTuple_Size(frame) == p->count + 1;
  const struct parameter work = {'a', 'd', 'C', 1, p->name, NULL};
  right = right && take_array(k, &work, PyTuple_GetItem(frame, 0), field);
  if (right) --*field; /* its length is not told */
  for (int i = 1; right && i <= p->count; ++i) {
    const long long size = PyLong_AsLongLong(PyTuple_GetItem(frame, i));
    right = !(size == -1 && PyErr_Occurred());
    *(*field)++ = size;
  }
  Py_DecRef(frame);
  return right;
}

static int take(const struct kernel *k, const struct parameter *p, PyObject *given, int64_t **field) {
  switch (p->kind) {
    case 'a': return take_array(k, p, given, field);
    case 'd': return take_double(given, field);
    case 'i': {
      const long long value = PyLong_AsLongLong(given);
      if (value == -1 && PyErr_Occurred()) return 0;
      *(*field)++ = value;
      return 1;
    }
    case 'b': {
      const int value = PyObject_IsTrue(given);
      if (value < 0) return 0;
      *(*field)++ = value;
      return 1;
    }
    case 't':
      if (!is_tuple(given) || PyTuple_Size(given) != p->count) return wrong(k, p, "a tuple of numbers");
      for (int i = 0; i < p->count; ++i)
        if (!take_double(PyTuple_GetItem(given, i), field)) return 0;
      return 1;
  }
  return take_workspace(k, p, given, field);
}

/* A result by its form: d, i, b, or several in parentheses. */
static PyObject *given_back(const char **form, const int64_t **field) {
  const char kind = *(*form)++;
  if (kind == '(') {
    const char *rest = *form;
    Py_ssize_t members = 0;
    for (int depth = 0; depth > 0 || *rest != ')'; ++rest) {
      if (*rest == ')') --depth;
      members += depth == 0 && *rest != ')';
      if (*rest == '(') ++depth;
    }
    PyObject *all = PyTuple_New(members);
    for (Py_ssize_t i = 0; all && i < members; ++i) PyTuple_SetItem(all, i, given_back(form, field));
    ++*form;
    return all;
  }
  const int64_t number = *(*field)++;
  if (kind == 'd') {
    double value;
    memcpy(&value, &number, sizeof value);
    return PyFloat_FromDouble(value);
  }
  return kind == 'b' ? PyBool_FromLong(number != 0) : PyLong_FromLongLong(number);
}

static PyObject *call(PyObject *self, PyObject *const *given, Py_ssize_t count) {
  const struct kernel *k = PyCapsule_GetPointer(self, NULL);
  if (!k) return NULL;
  if (count > k->parameters || count < k->required) {
    PyErr_Format(PyExc_TypeError, "%s takes %d arguments, got %zd", k->method.ml_name, k->parameters, count);
    return NULL;
  }
  int64_t frame[LARGEST_FRAME], *field = frame;
  for (int i = 0; i < count; ++i)
    if (!take(k, &k->parameter[i], given[i], &field)) return NULL;
  for (int i = (int)count; i < k->parameters; ++i) {
    if (k->parameter[i].kind == 'd') memcpy(field++, &k->standard[i], sizeof(double));
    else *field++ = (int64_t)k->standard[i];
  }
  const int32_t status = k->run(frame);
  if (status) {
    PyErr_Format(PyExc_RuntimeError, "%s failed with status %d", k->method.ml_name, (int)status);
    return NULL;
  }
  if (!k->result) {
    Py_IncRef(&_Py_NoneStruct);
    return &_Py_NoneStruct;
  }
  const char *form = k->result;
  const int64_t *results = field;
  return given_back(&form, &results);
}

/* signature: one word per parameter, "adC2:name", a default after "=", a workspace's attribute after
 * "@"; then "->" and the form of the result. */
PyObject *projected_control_bind(PyObject *ndarray, const char *name, void *run, const char *signature) {
  array_type = ndarray;
  struct kernel *k = calloc(1, sizeof *k);
  k->text = strdup(signature);
  k->method.ml_name = strdup(name);
  k->method.ml_meth = (void *)call;
  k->method.ml_flags = METH_FASTCALL;
  k->run = (int32_t(*)(int64_t *))run;
  char *save = NULL;
  int after = 0;
  for (char *word = strtok_r(k->text, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
    if (!strcmp(word, "->")) { after = 1; continue; }
    if (after) { k->result = word; continue; }
    struct parameter *p = &k->parameter[k->parameters];
    p->kind = word[0]; p->number = word[1]; p->order = word[2]; p->count = (char)(word[3] - '0');
    p->name = word + 5;
    char *attribute = strchr(word, '@');
    if (attribute) { *attribute = 0; p->attribute = attribute + 1; }
    char *standard = strchr(word, '=');
    if (standard) { *standard = 0; k->standard[k->parameters] = strtod(standard + 1, NULL); }
    else k->required = k->parameters + 1;
    ++k->parameters;
  }
  PyObject *capsule = PyCapsule_New(k, NULL, NULL);
  return capsule ? PyCFunction_NewEx(&k->method, capsule, NULL) : NULL;
}

/* What kernels take without Python, called one after the other, so many times, with frames that are
 * filled already [ns]; -1 where one fails. */
int64_t projected_control_time_calls(int64_t kernels, int32_t (**run)(int64_t *), int64_t **frames, int64_t count) {
  struct timespec begin, end;
  int32_t status = 0;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  for (int64_t i = 0; i < count; ++i)
    for (int64_t j = 0; j < kernels; ++j) status |= run[j](frames[j]);
  clock_gettime(CLOCK_MONOTONIC, &end);
  return status ? -1 : (end.tv_sec - begin.tv_sec) * 1000000000LL + end.tv_nsec - begin.tv_nsec;
}

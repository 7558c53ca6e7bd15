// Counts what a thread allocates. Preloaded (LD_PRELOAD) by `bench realtime`, and nowhere else.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <dlfcn.h>

namespace {

thread_local int64_t count = 0;

// dlsym allocates: what it asks for before malloc is known comes from here, and is never freed.
alignas(16) char early[1 << 16];
size_t early_used = 0;

void *early_memory(size_t size) {
  const size_t begin = early_used;
  early_used += (size + 15) & ~static_cast<size_t>(15);
  return early_used <= sizeof early ? early + begin : nullptr;
}

bool is_early(const void *memory) {
  return memory >= static_cast<const void *>(early) &&
         memory < static_cast<const void *>(early + sizeof early);
}

template <typename Function>
Function next(const char *name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

bool looking = false;

}  // namespace

extern "C" {

int64_t projected_control_allocations(void) { return count; }

void *malloc(size_t size) {
  static void *(*real)(size_t) = nullptr;
  if (!real) {
    if (looking) return early_memory(size);
    looking = true;
    real = next<void *(*)(size_t)>("malloc");
    looking = false;
  }
  ++count;
  return real(size);
}

void *calloc(size_t number, size_t size) {
  static void *(*real)(size_t, size_t) = nullptr;
  if (!real) {
    if (looking) return early_memory(number * size);  // static memory is zero
    looking = true;
    real = next<void *(*)(size_t, size_t)>("calloc");
    looking = false;
  }
  ++count;
  return real(number, size);
}

void *realloc(void *memory, size_t size) {
  static void *(*real)(void *, size_t) = next<void *(*)(void *, size_t)>("realloc");
  ++count;
  if (is_early(memory)) {
    void *moved = malloc(size);
    if (moved) {
      const size_t left = static_cast<size_t>(early + sizeof early - static_cast<char *>(memory));
      std::memcpy(moved, memory, size < left ? size : left);
    }
    return moved;
  }
  return real(memory, size);
}

int posix_memalign(void **memory, size_t alignment, size_t size) {
  static int (*real)(void **, size_t, size_t) =
      next<int (*)(void **, size_t, size_t)>("posix_memalign");
  ++count;
  return real(memory, alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size) {
  static void *(*real)(size_t, size_t) = next<void *(*)(size_t, size_t)>("aligned_alloc");
  ++count;
  return real(alignment, size);
}

void free(void *memory) {
  static void (*real)(void *) = next<void (*)(void *)>("free");
  if (memory && !is_early(memory)) real(memory);
}

}  // extern "C"

// What draws on the canvas: triangles with flat shading, and lines as wide as they are asked for.

const MESH_VERTEX = `#version 300 es
in vec3 place; uniform mat4 model, camera; out vec3 world;
void main() { vec4 p = model * vec4(place, 1.0); world = p.xyz; gl_Position = camera * p; }`;
const MESH_FRAGMENT = `#version 300 es
precision highp float; in vec3 world; uniform vec4 tint; uniform vec3 eye; uniform float ambient; out vec4 colour;
void main() {
  vec3 n = normalize(cross(dFdx(world), dFdy(world)));
  vec3 v = normalize(eye - world); if (dot(n, v) < 0.0) n = -n;
  float key = max(dot(n, normalize(v + vec3(0.35, -0.2, 0.75))), 0.0), sky = 0.5 + 0.5 * n.z;
  float gloss = pow(max(dot(n, normalize(v + normalize(vec3(0.4, -0.3, 0.9)))), 0.0), 40.0);
  vec3 shade = tint.rgb * (ambient * (0.55 + 0.45 * sky) + (1.05 - ambient) * key) + 0.16 * gloss;
  colour = vec4(shade, tint.a);
}`;
const LINE_VERTEX = `#version 300 es
in vec2 corner; in vec3 start, end; in vec4 shade; uniform mat4 camera; uniform vec2 screen; uniform float wide; out vec4 tint;
void main() {
  vec4 a = camera * vec4(start, 1.0), b = camera * vec4(end, 1.0);
  float near = 0.002; // a line that begins behind the eye is cut before it
  if (a.w < near && b.w < near) { gl_Position = vec4(2.0, 2.0, 2.0, 1.0); return; }
  if (a.w < near) a = mix(b, a, (b.w - near) / (b.w - a.w));
  if (b.w < near) b = mix(a, b, (a.w - near) / (a.w - b.w));
  vec2 along = (b.xy / b.w - a.xy / a.w) * screen; float size = length(along);
  vec2 t = size > 1e-6 ? along / size : vec2(1.0, 0.0), n = vec2(-t.y, t.x);
  vec4 p = corner.x < 0.5 ? a : b;
  p.xy += (n * corner.y + t * (corner.x - 0.5)) * wide / screen * p.w;
  p.z -= 0.0006 * p.w;
  gl_Position = p; tint = shade;
}`;
const LINE_FRAGMENT = `#version 300 es
precision mediump float; in vec4 tint; out vec4 colour; void main() { colour = tint; }`;

export class Pencil {
  constructor(canvas) {
    const gl = canvas.getContext("webgl2", { antialias: true, alpha: true, premultipliedAlpha: false });
    if (!gl) throw new Error("this browser has no WebGL 2");
    this.gl = gl;
    this.mesh = this.program(MESH_VERTEX, MESH_FRAGMENT);
    this.line = this.program(LINE_VERTEX, LINE_FRAGMENT);
    this.lines = [];
    this.array = gl.createVertexArray();
    gl.bindVertexArray(this.array);
    const corners = gl.createBuffer();
    gl.bindBuffer(gl.ARRAY_BUFFER, corners);
    gl.bufferData(gl.ARRAY_BUFFER, new Float32Array([0, -1, 0, 1, 1, -1, 1, 1]), gl.STATIC_DRAW);
    this.attribute(this.line, "corner", 2, 0, 0);
    this.buffer = gl.createBuffer();
    gl.bindBuffer(gl.ARRAY_BUFFER, this.buffer);
    this.attribute(this.line, "start", 3, 40, 0, 1);
    this.attribute(this.line, "end", 3, 40, 12, 1);
    this.attribute(this.line, "shade", 4, 40, 24, 1);
    gl.bindVertexArray(null);
  }

  program(vertex, fragment) {
    const gl = this.gl, made = gl.createProgram();
    for (const [kind, text] of [[gl.VERTEX_SHADER, vertex], [gl.FRAGMENT_SHADER, fragment]]) {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, text);
      gl.compileShader(shader);
      gl.attachShader(made, shader);
    }
    gl.linkProgram(made);
    if (!gl.getProgramParameter(made, gl.LINK_STATUS)) throw new Error(gl.getProgramInfoLog(made));
    return made;
  }

  attribute(program, name, size, stride, offset, divisor = 0) {
    const gl = this.gl, at = gl.getAttribLocation(program, name);
    gl.enableVertexAttribArray(at);
    gl.vertexAttribPointer(at, size, gl.FLOAT, false, stride, offset);
    gl.vertexAttribDivisor(at, divisor);
  }

  // Triangles that are drawn again and again.
  solid(vertices, triangles) {
    const gl = this.gl, array = gl.createVertexArray(), buffers = [gl.createBuffer(), gl.createBuffer()];
    gl.bindVertexArray(array);
    gl.bindBuffer(gl.ARRAY_BUFFER, buffers[0]);
    gl.bufferData(gl.ARRAY_BUFFER, vertices, gl.STATIC_DRAW);
    this.attribute(this.mesh, "place", 3, 0, 0);
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, buffers[1]);
    gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, triangles, gl.STATIC_DRAW);
    gl.bindVertexArray(null);
    return { array, buffers, count: triangles.length };
  }

  forget(solid) {
    this.gl.deleteVertexArray(solid.array);
    for (const buffer of solid.buffers) this.gl.deleteBuffer(buffer);
  }

  begin(camera, eye, ambient) {
    const gl = this.gl;
    Object.assign(this, { camera, eye, ambient });
    gl.viewport(0, 0, gl.drawingBufferWidth, gl.drawingBufferHeight);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
    gl.enable(gl.DEPTH_TEST);
    gl.enable(gl.BLEND);
    gl.blendFuncSeparate(gl.SRC_ALPHA, gl.ONE_MINUS_SRC_ALPHA, gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
  }

  draw(solid, model, tint) {
    const gl = this.gl, at = (name) => gl.getUniformLocation(this.mesh, name);
    gl.useProgram(this.mesh);
    gl.uniformMatrix4fv(at("camera"), false, this.camera);
    gl.uniformMatrix4fv(at("model"), false, model);
    gl.uniform4fv(at("tint"), tint);
    gl.uniform3fv(at("eye"), this.eye);
    gl.uniform1f(at("ambient"), this.ambient);
    gl.depthMask(tint[3] >= 1);
    gl.bindVertexArray(solid.array);
    gl.drawElements(gl.TRIANGLES, solid.count, gl.UNSIGNED_INT, 0);
    gl.depthMask(true);
  }

  segment(a, b, [red, green, blue], alpha = 1) {
    this.lines.push(a[0], a[1], a[2], b[0], b[1], b[2], red, green, blue, alpha);
  }

  path(points, shade, alpha = 1) {
    for (let i = 1; i < points.length; i++) this.segment(points[i - 1], points[i], shade, alpha);
  }

  // Draw the lines since the last stroke, this many pixels wide.
  stroke(wide) {
    if (!this.lines.length) return;
    const gl = this.gl, at = (name) => gl.getUniformLocation(this.line, name);
    gl.useProgram(this.line);
    gl.uniformMatrix4fv(at("camera"), false, this.camera);
    gl.uniform2f(at("screen"), gl.drawingBufferWidth, gl.drawingBufferHeight);
    gl.uniform1f(at("wide"), wide * (devicePixelRatio || 1));
    gl.bindVertexArray(this.array);
    gl.bindBuffer(gl.ARRAY_BUFFER, this.buffer);
    gl.bufferData(gl.ARRAY_BUFFER, new Float32Array(this.lines), gl.STREAM_DRAW);
    gl.depthMask(false);
    gl.drawArraysInstanced(gl.TRIANGLE_STRIP, 0, 4, this.lines.length / 10);
    gl.depthMask(true);
    this.lines = [];
  }
}

// A profile of radii and heights turned about z.
export function turned(profile, sides = 32) {
  const vertices = [], triangles = [];
  for (const [radius, height] of profile) {
    for (let i = 0; i < sides; i++) {
      const angle = (2 * Math.PI * i) / sides;
      vertices.push(radius * Math.cos(angle), radius * Math.sin(angle), height);
    }
  }
  for (let row = 0; row + 1 < profile.length; row++) {
    for (let i = 0; i < sides; i++) {
      const a = row * sides + i, b = row * sides + ((i + 1) % sides);
      triangles.push(a, b, b + sides, a, b + sides, a + sides);
    }
  }
  return [new Float32Array(vertices), new Uint32Array(triangles)];
}

export function ball(steps = 12) {
  const profile = [];
  for (let i = 0; i <= steps; i++) {
    const angle = Math.PI * (i / steps - 0.5);
    profile.push([Math.cos(angle), Math.sin(angle)]);
  }
  return turned(profile, 24);
}

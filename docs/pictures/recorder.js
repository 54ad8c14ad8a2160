'use strict';
// Records what Chart.js draws on a canvas as SVG. The canvas also draws, and supplies colours, fonts and positions. The
// recorder keeps only paths and clips, which a canvas does not expose.
function recordOf(canvas) {
  const real = canvas.getContext('2d');
  const number = (value) => String(Math.round(value * 100) / 100);
  const text = (value) => String(value).replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);
  const elements = [];
  const clips = [''];  // clip of each saved state, innermost last
  let path = '';
  let clipCount = 0;
  const point = (x, y) => `${number(x)} ${number(y)}`;
  const arc = (x, y, radius, from, to, back) => {
    const whole = Math.abs(to - from) >= 2 * Math.PI;
    const end = whole ? from + Math.PI : to;
    const at = (angle) => point(x + radius * Math.cos(angle), y + radius * Math.sin(angle));
    const sweep = (start, stop) => `A${number(radius)} ${number(radius)} 0 ${Math.abs(stop - start) > Math.PI ? 1 : 0} ${back ? 0 : 1} ${at(stop)}`;
    path += `${path && !path.endsWith('Z') ? 'L' : 'M'}${at(from)}${sweep(from, end)}${whole ? sweep(end, from + 2 * Math.PI) : ''}`;
  };
  const add = (name, attributes, inner = '') => {
    const { a, b, c, d, e, f } = real.getTransform();
    const moved = a !== 1 || b || c || d !== 1 || e || f;
    const all = { ...attributes, ...(moved && { transform: `matrix(${[a, b, c, d, e, f].map(number).join(' ')})` }),
      ...(real.globalAlpha < 1 && { opacity: number(real.globalAlpha) }) };
    const element = `<${name}${Object.entries(all).map(([key, value]) => ` ${key}="${text(value)}"`).join('')}${inner ? `>${inner}</${name}>` : '/>'}`;
    // The clip is in canvas coordinates, outside the transform of the element.
    elements.push(clips.at(-1) ? `<g clip-path="url(#${clips.at(-1)})">${element}</g>` : element);
  };
  const stroked = () => ({ fill: 'none', stroke: real.strokeStyle, 'stroke-width': number(real.lineWidth),
    ...(real.getLineDash().length && { 'stroke-dasharray': real.getLineDash().map(number).join(' ') }) });
  const box = (x, y, width, height) => `M${point(x, y)}h${number(width)}v${number(height)}h${number(-width)}Z`;
  const recorded = {
    beginPath() { path = ''; },
    moveTo(x, y) { path += `M${point(x, y)}`; },
    lineTo(x, y) { path += `L${point(x, y)}`; },
    bezierCurveTo(...all) { path += `C${all.map(number).join(' ')}`; },
    closePath() { path += 'Z'; },
    rect(...all) { path += box(...all); },
    arc,
    save() { clips.push(clips.at(-1)); },
    restore() { if (clips.length > 1) clips.pop(); },
    clip() {
      clips[clips.length - 1] = `clip${clipCount}`;
      elements.push(`<clipPath id="clip${clipCount++}"><path d="${path}"/></clipPath>`);
    },
    fill() { if (path) add('path', { d: path, fill: real.fillStyle }); },
    stroke() { if (path) add('path', { d: path, ...stroked() }); },
    fillRect(...all) { add('path', { d: box(...all), fill: real.fillStyle }); },
    strokeRect(...all) { add('path', { d: box(...all), ...stroked() }); },
    clearRect() { elements.length = 0; },
    fillText(words, x, y) {
      const anchor = { center: 'middle', right: 'end', end: 'end' }[real.textAlign] ?? 'start';
      const baseline = { middle: 'central', top: 'text-before-edge', bottom: 'text-after-edge' }[real.textBaseline] ?? 'alphabetic';
      add('text', { x: number(x), y: number(y), fill: real.fillStyle, style: `font: ${real.font}`, 'text-anchor': anchor, 'dominant-baseline': baseline }, text(words));
    },
  };
  const context = new Proxy(real, {
    get(target, name) {
      const value = target[name];
      if (typeof value !== 'function') return value;
      return (...all) => { recorded[name]?.(...all); return value.apply(target, all); };
    },
    set(target, name, value) { target[name] = value; return true; },
  });
  canvas.getContext = () => context;
  return () => elements.join('\n');
}

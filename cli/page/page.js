'use strict';
// Passes the data of each chart to Chart.js. Text from the data ends up on a canvas or in an attribute, never as markup.
(() => {
  const root = document.documentElement;
  const dark = matchMedia('(prefers-color-scheme: dark)');
  const style = (name) => getComputedStyle(root).getPropertyValue(name).trim();
  const shapes = ['circle', 'rect', 'triangle', 'rectRot', 'star', 'crossRot', 'cross'];
  const dashes = [[], [6, 4], [2, 3], [10, 4, 2, 4]];
  const numberText = (value) => String(Number(value.toPrecision(6)));

  const pointText = (spec, series, at) => {
    const { name, values, low, high, at: places } = spec.series[series];
    if (places) return `${name}: ${numberText(places[at])}, ${numberText(values[at])}`;
    if (values[at] === null) return name;
    const range = low && low[at] !== null ? ` (${numberText(low[at])} to ${numberText(high[at])})` : '';
    return `${name}: ${numberText(values[at])}${range}`;
  };

  function datasetsOf(spec) {
    const colours = style('--series').split(',').map((colour) => colour.trim());
    const points = spec.kind === 'points';
    const lines = points || spec.kind === 'lines';
    const many = spec.labels.length > 200;
    const datasets = [];
    spec.series.forEach(({ name, values, low, high, at }, series) => {
      const colour = colours[series % colours.length];
      const round = Math.floor(series / colours.length);
      datasets.push({
        type: points ? 'scatter' : lines ? 'line' : 'bar', label: name, series,
        data: points ? values.map((value, index) => ({ x: at[index], y: value })) : values, order: 2,
        stack: spec.kind === 'stacked' ? 'all' : `series ${series}`,
        borderColor: lines ? colour : style('--paper'), backgroundColor: colour, borderWidth: lines ? 2 : 1,
        borderDash: lines ? dashes[round % dashes.length] : [],
        pointStyle: shapes[(series + round) % shapes.length], pointRadius: points ? 2 : many ? 0 : 4, pointHoverRadius: 6, spanGaps: true,
      });
      // Spread: a narrow bar from the lowest to the highest sample, at the mark.
      if (low) datasets.push({
        type: 'bar', label: name, series, whisker: true, order: 1, stack: `series ${series}`, grouped: !lines,
        data: low.map((value, at) => (value === null ? null : [value, high[at]])),
        backgroundColor: lines ? colour : style('--ink'), minBarLength: 0,
        ...(lines ? { barThickness: 2 } : { barPercentage: 0.12 }),
      });
    });
    return datasets;
  }

  function configOf(spec) {
    const points = spec.kind === 'points';
    const lines = points || spec.kind === 'lines';
    const ink = style('--ink');
    const grid = style('--line');
    const stacked = spec.kind === 'stacked';
    // The axis begins at a power of ten well below the least value, so that its bar is visible.
    const least = Math.min(...spec.series.flatMap(({ values, low }) => [...values, ...(low ?? [])]).filter((value) => value > 0));
    const logarithmic = (value) => (/^[125]0*$/.test(value.toPrecision(3).replace(/[.]|e.*|^0[.0]*/g, '')) ? numberText(value) : '');
    const values = {
      type: spec.log ? 'logarithmic' : 'linear', stacked, beginAtZero: !lines, max: stacked ? 100 : undefined,
      min: spec.log && !lines && Number.isFinite(least) ? 10 ** Math.floor(Math.log10(least / 2)) : undefined,
      title: { display: true, text: spec.y, color: ink }, ticks: { color: ink, maxTicksLimit: 8, maxRotation: 0, callback: spec.log ? logarithmic : numberText }, grid: { color: grid },
    };
    // The axis shortens long names in the middle; the tooltip shows the whole name.
    const most = lines ? 24 : innerWidth < 600 ? 22 : 44;
    const short = (label) => (label.length > most ? `${label.slice(0, most / 2 - 1)}…${label.slice(-most / 2)}` : label);
    const places = {
      type: 'category', stacked: stacked ? true : undefined, offset: spec.labels.length <= 200, labels: spec.labels,
      title: { display: spec.x !== '', text: spec.x, color: ink }, ticks: { color: ink, autoSkip: lines, maxRotation: spec.labels.length > 12 ? 0 : 50, callback: (place) => short(spec.labels[place]) }, grid: { color: grid, display: lines },
    };
    const plane = { ...values, type: 'linear', title: { ...values.title, text: spec.x } };
    return {
      type: points ? 'scatter' : lines ? 'line' : 'bar',
      data: { labels: spec.labels, datasets: datasetsOf(spec) },
      options: {
        animation: false, responsive: true, maintainAspectRatio: false, indexAxis: lines ? 'x' : 'y',
        interaction: { mode: 'nearest', intersect: false, axis: lines ? 'xy' : 'y' },
        scales: points ? { x: plane, y: values } : lines ? { x: places, y: values } : { x: values, y: places },
        plugins: {
          legend: {
            display: spec.series.length > 1,
            labels: { color: ink, usePointStyle: lines, filter: (item, data) => !data.datasets[item.datasetIndex].whisker },
            onClick: (event, item, legend) => {
              const { chart } = legend;
              const shown = chart.isDatasetVisible(item.datasetIndex);
              const { series } = chart.data.datasets[item.datasetIndex];
              chart.data.datasets.forEach((dataset, index) => {
                if (dataset.series === series) chart.setDatasetVisibility(index, !shown);
              });
              chart.update();
            },
          },
          tooltip: {
            filter: (item) => !item.dataset.whisker || lines,
            callbacks: { label: (item) => pointText(spec, item.dataset.series, item.dataIndex) },
          },
        },
      },
    };
  }

  /** Zooms into a range that the reader drags over; a double click shows everything. */
  function addZoom(canvas, spec) {
    const axis = spec.kind === 'lines' ? 'x' : 'y';  // the axis of the places
    let from = null;
    const placeAt = (event) => Chart.getChart(canvas).scales[axis].getValueForPixel(axis === 'x' ? event.offsetX : event.offsetY);
    const show = (least, most) => {
      const chart = Chart.getChart(canvas);
      Object.assign(chart.options.scales[axis], { min: least, max: most });
      chart.update();
    };
    canvas.addEventListener('pointerdown', (event) => { from = event.pointerType === 'mouse' ? placeAt(event) : null; });
    canvas.addEventListener('pointerup', (event) => {
      const to = from === null ? null : placeAt(event);
      if (to !== null && to !== from) show(Math.max(0, Math.min(from, to)), Math.min(spec.labels.length - 1, Math.max(from, to)));
      from = null;
    });
    canvas.addEventListener('dblclick', () => show(undefined, undefined));
  }

  const drawn = new Map();  // figure -> function that redraws it in other colours
  function draw(figure) {
    if (drawn.has(figure)) return;
    const spec = JSON.parse(figure.querySelector('script').textContent);
    const holder = document.createElement('div');
    const canvas = document.createElement('canvas');
    holder.className = 'canvas';
    const bars = spec.labels.length * (spec.kind === 'bars' ? Math.max(1, spec.series.length) : 1);
    holder.style.height = spec.kind === 'lines' || spec.kind === 'points' ? '24rem' : `${Math.min(8000, 110 + 26 * Math.max(bars, 2))}px`;
    canvas.setAttribute('role', 'img');
    canvas.setAttribute('aria-label', `${figure.querySelector('h4').textContent}; the table below has the values`);
    holder.append(canvas);
    figure.querySelector('details').before(holder);
    const chart = () => new Chart(canvas, configOf(spec));
    chart();
    if (spec.kind !== 'points') addZoom(canvas, spec);
    drawn.set(figure, () => { Chart.getChart(canvas).destroy(); chart(); });
    const button = document.createElement('button');
    const name = () => { button.textContent = spec.log ? 'linear axis' : 'logarithmic axis'; };
    name();
    button.addEventListener('click', () => { spec.log = !spec.log; name(); drawn.get(figure)(); });
    const tools = figure.querySelector('.tools');
    if (spec.kind === 'lines' || spec.kind === 'bars') tools.prepend(button);
    const hint = document.createElement('span');
    hint.textContent = [spec.kind !== 'points' && 'drag over a range to zoom, double-click for all',
      spec.series.length > 1 && 'click a name to hide it'].filter(Boolean).join('; ');
    tools.append(hint);
    figure.querySelector('details').open = false;
  }
  // The markup in a noscript element is generated by Gradus from escaped text.
  const fill = (details) => {
    const waiting = details.querySelector(':scope > noscript');
    if (waiting) waiting.outerHTML = waiting.textContent;
  };
  document.addEventListener('toggle', ({ target }) => {
    const figure = target.closest('figure');  // its table is open until the chart is drawn
    if (target.open && (!figure || drawn.has(figure))) fill(target);
  }, true);
  const again = () => { for (const redraw of drawn.values()) redraw(); };

  if (typeof Chart === 'undefined') return;
  const figures = document.querySelectorAll('figure.chart');
  const observer = new IntersectionObserver((entries) => {
    for (const entry of entries) if (entry.isIntersecting) { observer.unobserve(entry.target); draw(entry.target); }
  }, { rootMargin: '600px' });
  for (const figure of figures) observer.observe(figure);
  dark.addEventListener('change', again);
  addEventListener('beforeprint', () => {
    root.classList.add('printing');
    again();
    figures.forEach(draw);
    document.querySelectorAll('details.rows').forEach((details) => { fill(details); details.open = true; });
  });
  addEventListener('afterprint', () => { root.classList.remove('printing'); again(); });
})();

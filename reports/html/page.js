document.documentElement.classList.add('js');

// Trials: filters and pages over rows of numbers, whose words stand in a list.
(() => {
  const data = JSON.parse(document.getElementById('data').textContent), words = data.words, rows = data.rows;
  const SCENARIO = 0, SUITE = 1, VARIANT = 3, VERDICT = 4, ENDING = 5, SEED = 6, CALLS = 7, TIME = 8, TOKENS = 9, TRACE = 10, FOUND = 11;
  const size = 100, $ = id => document.getElementById(id), number = new Intl.NumberFormat('en');
  const lower = words.map(w => w.toLowerCase());
  let kept = rows, page = 0;

  function fill(select, column) {
    const seen = [...new Set(rows.map(r => r[column]))];
    if (column !== VARIANT) seen.sort((a, b) => words[a] < words[b] ? -1 : 1);
    select.add(new Option('all', ''));
    for (const w of seen) select.add(new Option(words[w], w));
  }

  function filter() {
    const is = [[SUITE, $('suite').value], [VARIANT, $('variant').value], [VERDICT, $('verdict').value]].filter(f => f[1] !== '').map(f => [f[0], Number(f[1])]);
    const parts = $('q').value.toLowerCase().split(/\s+/).filter(Boolean);
    const has = parts.map(p => lower.map(w => w.includes(p)));
    kept = rows.filter(r => is.every(f => r[f[0]] === f[1]) && has.every(h => h[r[SCENARIO]] || h[r[VARIANT]] || h[r[ENDING]] || h[r[FOUND]]));
    page = 0;
    show();
  }

  function duration(ms) {
    if (ms < 1000) return ms + 'ms';
    const s = Math.floor(ms / 1000), two = n => String(n).padStart(2, '0');
    if (s < 60) return Math.floor(ms / 100) / 10 + 's';
    if (s < 3600) return Math.floor(s / 60) + 'm' + two(s % 60) + 's';
    if (s < 86400) return Math.floor(s / 3600) + 'h' + two(Math.floor(s % 3600 / 60)) + 'm';
    return Math.floor(s / 86400) + 'd' + two(Math.floor(s % 86400 / 3600)) + 'h';
  }

  function cell(row, name, text, className) {
    const c = document.createElement(name);
    c.textContent = text;
    if (className) c.className = className;
    row.append(c);
    return c;
  }

  function show() {
    const body = document.createDocumentFragment(), from = page * size;
    for (const r of kept.slice(from, from + size)) {
      const tr = document.createElement('tr'), verdict = words[r[VERDICT]];
      cell(tr, 'th', words[r[SCENARIO]]).scope = 'row';
      const t = cell(tr, 'td', '');
      if (r[TRACE]) { const a = document.createElement('a'); a.href = '#trace-' + r[TRACE]; a.textContent = 'trace'; t.append(a); }
      cell(tr, 'td', words[r[VARIANT]]);
      cell(tr, 'td', words[r[SEED]], 'n');
      const v = document.createElement('span');
      v.className = 'verdict ' + (['pass', 'fail', 'inconclusive'].includes(verdict) ? verdict : 'unjudged');
      v.textContent = verdict;
      cell(tr, 'td', '').append(v);
      cell(tr, 'td', words[r[ENDING]]);
      cell(tr, 'td', number.format(r[CALLS]), 'n');
      cell(tr, 'td', duration(r[TIME]), 'n');
      cell(tr, 'td', number.format(r[TOKENS]), 'n');
      cell(tr, 'td', words[r[FOUND]]);
      body.append(tr);
    }
    $('rows').replaceChildren(body);
    const last = Math.min(from + size, kept.length);
    $('count').textContent = number.format(kept.length) + ' of ' + number.format(rows.length) + ' trials';
    $('at').textContent = kept.length ? number.format(from + 1) + '–' + number.format(last) + ' of ' + number.format(kept.length) : 'no trial fits';
    $('back').disabled = page === 0;
    $('next').disabled = last >= kept.length;
  }

  fill($('suite'), SUITE);
  fill($('variant'), VARIANT);
  fill($('verdict'), VERDICT);
  for (const id of ['suite', 'variant', 'verdict']) $(id).addEventListener('change', filter);
  $('q').addEventListener('input', filter);
  $('back').addEventListener('click', () => { page--; show(); });
  $('next').addEventListener('click', () => { page++; show(); });
  $('filters').hidden = $('pages').hidden = false;
  filter();
})();

// Traces: one is open at a time, and made visible when it is.
(() => {
  const all = [...document.querySelectorAll('#traces details')];
  if (!all.length) return;
  document.getElementById('trace-hint').textContent = 'Choose “trace” at a trial above.';
  function render(d) {
    if (!d.open || d.dataset.done) return;
    d.dataset.done = '1';
    const text = d.querySelector('pre'), raw = document.createElement('details'), summary = document.createElement('summary');
    summary.textContent = 'as text';
    text.before(traceView.show(text.textContent));
    text.before(raw);
    raw.append(summary, text);
  }
  function follow() {
    const m = /^#trace-(\d+)$/.exec(location.hash), d = m && document.getElementById('trace-' + m[1]);
    if (!d) return;
    for (const other of all) if (other !== d) other.open = false;
    d.open = true;
    render(d);
    d.scrollIntoView();
    d.querySelector('summary').focus();
  }
  for (const d of all) d.addEventListener('toggle', () => render(d));
  addEventListener('hashchange', follow);
  document.addEventListener('click', e => { const a = e.target.closest('a[href^="#trace-"]'); if (a && a.hash === location.hash) follow(); });
  follow();
})();

// Charts: the values of all curves at the number of calls that is pointed at.
(() => {
  for (const svg of document.querySelectorAll('.plot svg')) {
    const points = [...svg.querySelectorAll('.pt')].map(p => ({x: Number(p.getAttribute('cx')), t: Number(p.dataset.t), words: p.textContent, variant: p.closest('.series').dataset.variant}));
    if (!points.length) continue;
    const readout = svg.closest('figure').querySelector('.readout'), places = [...new Set(points.map(p => p.t))].sort((a, b) => a - b);
    const cursor = document.createElementNS(svg.namespaceURI, 'line'), grid = svg.querySelector('.axis'), height = grid.getAttribute('y1');
    cursor.setAttribute('class', 'cursor');
    cursor.setAttribute('y1', 26);
    cursor.setAttribute('y2', height);
    let at = -1;
    function read(i) {
      at = Math.max(0, Math.min(places.length - 1, i));
      const t = places[at], x = points.find(p => p.t === t).x, last = new Map();
      for (const p of points) if (p.t <= t) last.set(p.variant, p);
      cursor.setAttribute('x1', x);
      cursor.setAttribute('x2', x);
      svg.append(cursor);
      readout.replaceChildren(...[...last.values()].map(p => { const line = document.createElement('span'); line.textContent = p.words; return line; }));
    }
    svg.addEventListener('pointermove', e => {
      const box = svg.getBoundingClientRect(), x = (e.clientX - box.left) * svg.viewBox.baseVal.width / box.width;
      let nearest = points[0];
      for (const p of points) if (Math.abs(p.x - x) < Math.abs(nearest.x - x)) nearest = p;
      read(places.indexOf(nearest.t));
    });
    svg.tabIndex = 0;
    svg.addEventListener('keydown', e => {
      const step = {ArrowLeft: -1, ArrowRight: 1}[e.key];
      if (step) { e.preventDefault(); read(at + step); }
    });
  }
})();

'use strict';
// Reads the canonical text of a trace and shows it turn by turn. All text goes
// into the page as text, never as markup.
const traceView = (() => {
  const escapes = {n: '\n', t: '\t', r: '\r', a: '\x07', b: '\b', f: '\f', v: '\v', '\\': '\\', '"': '"', "'": "'"};
  const hexDigits = {x: 2, u: 4, U: 8};

  // value reads a value at s[at]: bare, in back quotes, or Go-quoted.
  function value(s, at) {
    if (s[at] === '`') {
      const end = s.indexOf('`', at + 1);
      return end < 0 ? [s.slice(at + 1), s.length] : [s.slice(at + 1, end), end + 1];
    }
    if (s[at] !== '"') {
      let end = at;
      while (end < s.length && !' :()'.includes(s[end])) end++;
      return [s.slice(at, end), end];
    }
    let out = '';
    for (let i = at + 1; i < s.length; i++) {
      if (s[i] === '"') return [out, i + 1];
      if (s[i] !== '\\') { out += s[i]; continue; }
      const mark = s[++i], digits = hexDigits[mark];
      if (!digits) { out += escapes[mark] || mark; continue; }
      const code = parseInt(s.slice(i + 1, i + 1 + digits), 16);
      out += code <= 0x10ffff && mark !== 'x' || code < 0x80 ? String.fromCodePoint(code) : '\ufffd';
      i += digits;
    }
    return [out, s.length];
  }

  // line reads a line: the path of its session, its word, the number it is about, flags,
  // keys and calls.
  function line(raw) {
    const m = /^\s*(?:(-?[\d.]+)s|>) +((?:c-?\d+(?:#-?\d+)?\/)*) *(\S+)(.*)$/.exec(raw);
    if (!m) return {path: '', word: '', raw, keys: {}, calls: [], flags: []};
    const rec = {path: m[2], word: m[3], effect: m[1] === undefined, at: m[1] === undefined ? null : Number(m[1]), raw, keys: {}, calls: [], flags: [], ref: '', attempt: 1};
    const s = m[4];
    for (let i = 0; i < s.length;) {
      if (s[i] === ' ') { i++; continue; }
      const eq = /^([a-z_]+)=/.exec(s.slice(i, i + 40));
      if (!eq) {
        let end = s.indexOf(' ', i);
        if (end < 0) end = s.length;
        const bare = s.slice(i, end), ref = /^([a-z]\d+)(?:#(\d+))?$/.exec(bare);
        if (ref && !rec.ref) { rec.ref = ref[1]; rec.attempt = Number(ref[2] || 1); } else rec.flags.push(bare);
        i = end;
        continue;
      }
      i += eq[0].length;
      let v;
      [v, i] = value(s, i);
      if (eq[1] === 'call') {
        const call = {id: v};
        [call.name, i] = value(s, i + 1);
        [call.args, i] = value(s, i + 1);
        i++;
        rec.calls.push(call);
      } else rec.keys[eq[1]] = v;
    }
    return rec;
  }

  const isModel = r => r.ref[0] === 'm', isCall = r => r.ref[0] === 'c';

  // read folds lines into blocks: users' messages, turns with their calls, notes
  // and halts; and the bars and marks of the time axis. Each session, sub-runs
  // included, has a state of its own; a block has the depth of its session.
  function read(text) {
    const view = {blocks: [], bars: [], marks: [], end: 0};
    const open = {}, sessions = {};
    let now = 0, gap = false, path = '', st = null;
    // unnumbered are the calls of the last reply, once lines were left out and nobody knows their numbers.
    const session = path => sessions[path] || (sessions[path] = {calls: {}, requests: {}, asked: 0, turn: null, turns: 0, nudge: '', unnumbered: gap ? [] : null});
    const block = b => { b.at = now; b.path = path; b.depth = path.split('/').length - 1; view.blocks.push(b); return b; };
    const mark = (kind, label) => view.marks.push({kind, label: path + label, at: now});
    const bar = (key, b) => { b.from = now; b.to = null; b.label = path + b.label; open[path + key] = b; view.bars.push(b); };
    const shut = (key, bad) => { const b = open[path + key]; if (b) { b.to = now; b.bad = bad; delete open[path + key]; } return b; };
    const card = (ref, name, args) => {
      if (!st.calls[ref] && st.unnumbered && st.unnumbered.length) {
        const same = st.unnumbered.findIndex(c => c.name === name && c.args === args);
        st.calls[ref] = st.unnumbered.splice(Math.max(0, same), 1)[0];
        st.calls[ref].ref = ref;
      }
      if (!st.calls[ref]) {
        st.calls[ref] = {ref, name: '', args: '', tries: []};
        if (!st.turn) st.turn = block({kind: 'turn', n: ++st.turns, text: '', calls: [], from: now});
        st.turn.calls.push(st.calls[ref]);
      }
      return st.calls[ref];
    };
    for (const raw of text.split('\n')) {
      if (!raw) continue;
      const r = line(raw), k = r.keys;
      path = r.path;
      st = session(path);
      if (r.at !== null && r.at !== undefined) now = r.at;
      view.end = Math.max(view.end, now);
      switch (r.word) {
      case 'started': case 'message':
        block({kind: 'user', text: k.text || ''});
        continue;
      case 'ask':
        if (isModel(r)) { st.requests[r.ref] = now; bar(r.ref, {lane: 'model', label: 'model request ' + r.ref + (r.attempt > 1 ? ', try ' + r.attempt : '')}); if (k.for && k.for !== 'reply') block({kind: 'note', title: 'asks for ' + k.for, text: k.text || ''}); } else { block({kind: 'note', title: 'asks the user', text: k.text || ''}); mark('nudge', 'asks the user'); }
        continue;
      case 'reply':
        shut(r.ref);
        st.turn = block({kind: 'turn', n: st.unnumbered ? 'of ' + r.ref : ++st.turns, text: k.text || '', calls: [], from: st.requests[r.ref] === undefined ? now : st.requests[r.ref], tokens: [k.in || 0, k.out || 0], finish: k.finish || ''});
        if (st.unnumbered) {
          st.unnumbered = r.calls.map(c => ({ref: '', name: c.name, args: c.args, tries: []}));
          st.turn.calls.push(...st.unnumbered);
        } else for (const c of r.calls) { const it = card('c' + ++st.asked); it.name = c.name; it.args = c.args; }
        continue;
      case 'failure':
        shut(r.ref, true);
        block({kind: 'note', bad: true, title: 'model request failed' + (k.status ? ', status ' + k.status : ''), text: k.text || ''});
        continue;
      case 'call': {
        const c = card(r.ref, k.name, k.args);
        st.asked = Math.max(st.asked, Number(r.ref.slice(1)));
        if (k.name) { if (c.name && c.name !== k.name) c.instead = k.name; else c.name = k.name; }
        if (k.args && !c.args) c.args = k.args;
        const t = {n: r.attempt, from: now};
        c.tries.push(t);
        bar(r.ref + '#' + r.attempt, {lane: 'tool', label: c.name + ' ' + r.ref + (r.attempt > 1 ? ', try ' + r.attempt : '')});
        continue;
      }
      case 'result': {
        const c = card(r.ref), t = c.tries.find(t => t.n === r.attempt);
        shut(r.ref + '#' + r.attempt, !r.flags.includes('ok'));
        if (t) { t.to = now; t.code = r.flags.includes('ok') ? 'ok' : k.code || 'error'; t.text = k.text || ''; }
        continue;
      }
      case 'put':
        if (isCall(r)) {
          const c = card(r.ref);
          c.code = k.code || ''; c.why = k.why || ''; c.put = k.text || '';
          if (c.why === 'vetoed') mark('veto', 'veto of ' + c.name);
        } else { block({kind: st.nudge ? 'nudge' : 'loop', title: st.nudge ? 'nudge by ' + st.nudge : 'the loop tells the model', text: k.text || ''}); st.nudge = ''; }
        continue;
      case 'note':
        if (k.event === 'nudged') { st.nudge = k.text || 'a detector'; mark('nudge', 'nudge by ' + st.nudge); } else block({kind: 'note', title: k.event || 'note', text: (r.ref ? r.ref + ' ' : '') + (k.text || '')});
        continue;
      case 'halt':
        mark('halt', 'halt: ' + (k.stop || ''));
        block({kind: 'halt', stop: k.stop || '', end: k.end || '', text: k.reason || k.answer || '', good: k.end === 'DONE', turns: k.turns || 0, calls: k.calls || 0, elapsed: k.elapsed || '0s'});
        st.turn = null;
        continue;
      case 'tick': case 'delta':
        continue;
      case 'cancel':
        if (r.effect && isModel(r)) shut(r.ref, true);
        block({kind: 'note', bad: true, title: r.effect ? 'the loop cancels ' + r.ref : 'cancelled' + (k.cause ? ' by ' + k.cause : ''), text: k.text || ''});
        continue;
      case 'drop':
        block({kind: 'note', title: 'drops ' + r.ref + ' from the history', text: ''});
        continue;
      default:
        if (raw[0] === '…') {
          for (const key of Object.keys(open)) shut(key);
          gap = true;
          for (const s of Object.values(sessions)) { s.unnumbered = []; s.turn = null; }
          block({kind: 'gap', text: raw});
        } else block({kind: 'note', title: '', text: raw.trim()});
      }
    }
    for (const b of view.bars) if (b.to === null) { b.to = view.end; b.bad = true; }
    return view;
  }

  // el makes an element with a class and a text.
  function el(name, className, text) {
    const e = document.createElement(name);
    if (className) e.className = className;
    if (text !== undefined) e.textContent = text;
    return e;
  }

  const count = (n, noun) => n + ' ' + noun + (Number(n) === 1 ? '' : 's');
  const seconds = s => (Math.round(s * 1000) / 1000) + ' s';

  // axis draws what ran when: the model in one lane, tools in as many as ran at
  // once.
  function axis(view) {
    const box = el('div', 'axis'), end = view.end || 1;
    box.setAttribute('role', 'img');
    box.setAttribute('aria-label', 'Virtual time from 0 to ' + seconds(view.end) + ': ' + view.bars.length + ' requests and tries; ' + (view.marks.map(m => m.label + ' at ' + seconds(m.at)).join('; ') || 'no mark'));
    const lanes = [];
    const lane = (name, from) => {
      let l = lanes.find(l => l.name === name && l.free <= from);
      if (!l) { l = {name, free: 0, row: el('div', 'lane')}; l.row.append(el('span', 'lane-name', name)); l.track = el('div', 'track'); l.row.append(l.track); lanes.push(l); }
      return l;
    };
    lane('model', 0);
    for (const b of view.bars) {
      const l = lane(b.lane, b.from), i = el('i', b.bad ? 'bad' : b.lane);
      l.free = Math.max(b.to, b.from + end / 1e6);
      i.style.left = 100 * b.from / end + '%';
      i.style.width = 100 * (b.to - b.from) / end + '%';
      i.title = b.label + ': ' + seconds(b.from) + ' to ' + seconds(b.to);
      l.track.append(i);
    }
    const marks = el('div', 'lane'), track = el('div', 'track marks');
    marks.append(el('span', 'lane-name', 'marks'), track);
    view.marks.forEach((m, n) => {
      const i = el('b', m.kind, {nudge: '!', veto: '✕', halt: '■'}[m.kind]);
      i.style.left = 100 * m.at / end + '%';
      i.style.marginLeft = -14 * view.marks.slice(n + 1).filter(later => later.at === m.at).length + 'px';
      i.title = m.label + ' at ' + seconds(m.at);
      track.append(i);
    });
    const scale = el('div', 'lane'), ticks = el('div', 'track scale');
    scale.append(el('span', 'lane-name', ''), ticks);
    for (const part of [0, .25, .5, .75, 1]) { const i = el('span', '', seconds(part * view.end)); i.style.left = 100 * part + '%'; ticks.append(i); }
    lanes.forEach((l, n) => { if (n > 1) l.row.firstChild.textContent = ''; box.append(l.row); });
    box.append(marks, scale);
    return box;
  }

  const whys = {vetoed: 'vetoed by a detector', refused: 'refused by a limit', denied: 'denied', unknown: 'no such tool', invalid: 'invalid arguments', 'not-started': 'not started'};

  function callCard(c) {
    const failed = c.code && c.code !== 'ok', d = el('div', 'call' + (c.why ? ' blocked ' + c.why : failed ? ' failed' : ''));
    const head = el('p', 'call-head');
    head.append(el('b', '', c.name || c.ref), ' ', el('span', 'state', c.why ? (whys[c.why] || c.why) : failed ? c.code : 'ok'));
    d.append(head, el('code', 'args', c.args));
    for (const t of c.tries) {
      d.append(el('p', 'try', (c.tries.length > 1 ? 'try ' + t.n + ': ' : '') + seconds(t.from) + ' → ' + (t.to === undefined ? 'no end' : seconds(t.to) + (t.code === 'ok' ? '' : ', ' + t.code))));
    }
    const text = c.put || (c.tries.length ? c.tries[c.tries.length - 1].text : '');
    if (text) d.append(el('div', 'said', text));
    return d;
  }

  const draw = {
    user: b => { const d = el('div', 'block user'); d.append(el('h3', '', b.path ? 'task of the sub-run ' + b.path : 'user'), el('div', 'said', b.text)); return d; },
    turn: b => {
      const d = el('div', 'block turn'), h = el('h3', '', (b.path ? b.path + ' ' : '') + 'turn ' + b.n);
      h.append(el('small', '', ' ' + seconds(b.at) + ', model took ' + seconds(b.at - b.from) + (b.tokens && Number(b.tokens[0]) + Number(b.tokens[1]) ? ', ' + b.tokens[0] + ' tokens in, ' + b.tokens[1] + ' out' : '') + (b.calls.length > 1 ? ', ' + b.calls.length + ' calls in parallel' : '')));
      d.append(h);
      if (b.text) d.append(el('div', 'said', b.text));
      if (b.calls.length) { const g = el('div', 'calls'); for (const c of b.calls) g.append(callCard(c)); d.append(g); }
      return d;
    },
    nudge: b => { const d = el('div', 'block nudge'); d.append(el('h3', '', b.title), el('div', 'said', b.text)); return d; },
    loop: b => { const d = el('div', 'block loop'); d.append(el('h3', '', b.title), el('div', 'said', b.text)); return d; },
    note: b => el('p', 'block note' + (b.bad ? ' bad' : ''), seconds(b.at) + ' ' + (b.path ? b.path + ' ' : '') + (b.title ? b.title + (b.text ? ': ' : '') : '') + b.text),
    gap: b => el('p', 'block gap', b.text),
    halt: b => {
      const d = el('div', 'block halt' + (b.good ? ' good' : ''));
      d.append(el('h3', '', (b.path ? b.path + ' ' : '') + 'stop: ' + b.stop + (b.end ? ' (' + b.end + ')' : '')), el('div', 'said', b.text), el('small', '', count(b.turns, 'turn') + ', ' + count(b.calls, 'call') + ', ' + b.elapsed + ' of virtual time'));
      return d;
    },
  };

  // show makes the view of a trace's text.
  function show(text) {
    const view = read(text), box = el('div', 'trace');
    box.append(axis(view));
    for (const b of view.blocks) {
      const e = draw[b.kind](b);
      if (b.depth) e.style.marginLeft = 24 * Math.min(b.depth, 8) + 'px';
      box.append(e);
    }
    return box;
  }
  return {show, read};
})();

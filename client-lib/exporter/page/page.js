// SPDX-License-Identifier: Apache-2.0
// The page: asks the exporter every second, and shows what it says. Names are text everywhere:
// nothing here makes HTML of a string.
"use strict";

const PERIOD_MS = 1000;
const KEY = "odeon-token";
const SVG = "http://www.w3.org/2000/svg";
const STATES = ["stopped", "busy", "searching", "parked"];
let before = null; // the document before this one
let busy = []; // of each worker, how much of the last looks it was at work

const at = (id) => document.getElementById(id);

function make(name, text, kind) {
    const element = document.createElement(name);
    if (text !== undefined) element.textContent = text;
    if (kind) element.className = kind;
    return element;
}

function draw(parent, name, attributes, text) {
    const element = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    if (text !== undefined) element.textContent = text;
    parent.appendChild(element);
    return element;
}

function short(value) {
    if (value >= 1e9) return (value / 1e9).toFixed(1) + " G";
    if (value >= 1e6) return (value / 1e6).toFixed(1) + " M";
    if (value >= 1e4) return (value / 1e3).toFixed(1) + " k";
    return value >= 100 || Number.isInteger(value) ? value.toFixed(0) : value.toFixed(1);
}

// What an older service does not say.
function known(value) {
    return value === undefined ? "" : short(value);
}

function bytes(n) {
    if (n < 1024) return n + " B";
    return n < 1048576 ? (n / 1024).toFixed(1) + " KiB" : (n / 1048576).toFixed(1) + " MiB";
}

function time(ns) {
    if (ns >= 1e9) return (ns / 1e9).toFixed(2) + " s";
    if (ns >= 1e6) return (ns / 1e6).toFixed(1) + " ms";
    return ns >= 1e3 ? (ns / 1e3).toFixed(1) + " µs" : ns + " ns";
}

// What has come since the document before, a second; null: there is none to compare with.
function rate(now, was, seconds) {
    return was === undefined || !(seconds > 0) || now < was ? null : (now - was) / seconds;
}

function rateText(value) {
    return value === null ? "" : short(value) + "/s";
}

// A table of rows of cells; numbers stand on the right.
function table(id, heads, rows) {
    const head = make("tr");
    const body = rows.map((cells) => {
        const row = make("tr");
        for (const [i, cell] of cells.entries()) {
            const column = make("td", undefined, heads[i][1]);
            if (cell instanceof Node) column.appendChild(cell);
            else column.textContent = cell;
            row.appendChild(column);
        }
        return row;
    });
    for (const [text, kind] of heads) head.appendChild(make("th", text, kind));
    at(id).replaceChildren(head, ...body);
}

function showTotals(now, seconds) {
    const list = at("totals");
    const counts = [["messages_processed", "messages run"], ["messages_sent", "messages sent"],
        ["port_messages", "from clients"], ["port_deliveries", "to clients"],
        ["steals", "steals"], ["dead_letters", "dead letters"], ["refusals", "refusals"],
        ["faults", "faults"]];
    list.replaceChildren();
    for (const name of ["workers", "queues", "actors", "clients", "ports", "plugins"])
        list.append(make("dt", name), make("dd", String(now.service[name])));
    list.append(make("dt", "executor restarts"),
        make("dd", String(now.service.executor_restarts)));
    list.append(make("dt", "stealing"), make("dd", now.service.stealing));
    for (const [name, title] of counts) {
        const value = now.totals[name] || 0;
        const was = before && before.totals ? before.totals[name] : undefined;
        const cell = make("dd", short(value) + "  " + rateText(rate(value, was, seconds)));
        cell.id = "total-" + name;
        list.append(make("dt", title), cell);
    }
}

function showWorkers(now, seconds) {
    const rows = now.workers.map((worker) => {
        const was = before && before.workers ? before.workers[worker.worker] : undefined;
        const meter = make("meter");
        busy[worker.worker] = (busy[worker.worker] || 0) * 0.7 + (worker.state === 1 ? 0.3 : 0);
        meter.value = busy[worker.worker];
        return [String(worker.worker), worker.cpu < 0 ? "" : String(worker.cpu),
            (STATES[worker.state] || "?") + (worker.handler_overdue ? ", overdue" : "") +
                (worker.resting ? ", rests" : ""), meter,
            rateText(rate(worker.messages_processed, was && was.messages_processed, seconds)),
            rateText(rate(worker.steals, was && was.steals, seconds))];
    });
    table("workers", [["worker", "number"], ["cpu", "number"], ["state"], ["at work"],
        ["messages", "number"], ["steals", "number"]], rows);
}

function showTypes(now, seconds) {
    const was = new Map((before && before.types || []).map((type) => [type.type, type]));
    const rows = (now.types || []).map((type) => {
        const old = was.get(type.type);
        const share = rate(type.run_ns, old && old.run_ns, seconds);
        return [type.type, type.plugin, short(type.messages),
            rateText(rate(type.messages, old && old.messages, seconds)),
            share === null ? "" : (share / 1e7).toFixed(1) + " %", time(type.run_p99_ns),
            time(type.wait_p99_ns), short(type.actors), bytes(type.state_bytes)];
    });
    table("types", [["type"], ["plugin"], ["messages", "number"], ["a second", "number"],
        ["runs", "number"], ["run p99", "number"], ["wait p99", "number"], ["actors", "number"],
        ["states", "number"]], rows);
}

function showLists(now) {
    const waiting = (now.queues || []).slice().sort((a, b) => b.bytes - a.bytes).slice(0, 20);
    table("queues", [["queue", "number"], ["home", "number"], ["owner", "number"],
        ["actors", "number"], ["bytes", "number"]],
    waiting.map((q) => [q.id, q.home, q.owner, q.actors, short(q.bytes)].map(String)));
    table("clients", [["client", "number"], ["name"], ["user", "number"], ["process", "number"],
        ["ports", "number"], ["posts", "number"], ["refused", "number"], ["calls", "number"],
        ["call p99", "number"]],
    (now.clients || []).map((c) => [c.id, c.name, c.uid, c.pid, c.ports, known(c.posts),
        known(c.refused), known(c.calls_answered),
        c.calls_answered ? time(c.call_p99_ns) : ""].map(String)));
}

// Flows by the names that are shown: more than a dozen ports are one, "clients".
function gatherFlows(now) {
    const ports = new Set((now.flows || []).filter((f) => f.from === "port").map((f) => f.port));
    const sums = new Map();
    for (const flow of now.flows || []) {
        const port = ports.size > 12 ? "clients" : "port " + flow.port;
        const from = flow.from === "port" ? port : flow.from || "nobody";
        const key = JSON.stringify([from, flow.to]);
        if (!sums.has(key)) sums.set(key, { from, to: flow.to, rate: 0 });
        sums.get(key).rate += flow.rate;
    }
    return [...sums.values()];
}

// Types and clients on a circle, an arrow for each flow, as wide as it has messages.
function showFlows(now) {
    const flows = gatherFlows(now);
    const names = [];
    const picture = document.createElementNS(SVG, "svg");
    for (const flow of flows)
        for (const name of [flow.from, flow.to])
            if (!names.includes(name)) names.push(name);
    const place = (name) => {
        const angle = 2 * Math.PI * names.indexOf(name) / names.length;
        return [300 + 190 * Math.cos(angle), 230 + 190 * Math.sin(angle)];
    };
    picture.setAttribute("viewBox", "0 0 600 460");
    for (const flow of flows) {
        const [x, y] = place(flow.from);
        const [u, v] = place(flow.to);
        const width = 1 + Math.min(9, Math.log10(1 + flow.rate));
        const path = x === u && y === v ? `M${x},${y} c-40,-40 40,-40 0,0` :
            `M${x},${y} Q${(x + u + 300) / 3},${(y + v + 230) / 3} ${u},${v}`;
        const line = draw(picture, "path", { d: path, class: "flow", "stroke-width": width });
        draw(line, "title", {}, `${flow.from} to ${flow.to}: ${short(flow.rate)}/s`);
        draw(picture, "circle", { cx: u, cy: v, r: 3 + width / 2, class: "worker" });
    }
    for (const name of names) {
        const [x, y] = place(name);
        draw(picture, "text", { x, y: y - 8, "text-anchor": "middle" }, name);
    }
    at("flows").replaceChildren(picture);
}

// Boxes within boxes: node, third-level cache, core; in them workers, under them their queues.
function showTopology(now) {
    const picture = document.createElementNS(SVG, "svg");
    const groups = new Map();
    let x = 10;
    for (const worker of now.workers) {
        const key = worker.cpu < 0 ? "bound to no processor" :
            `node ${worker.node}, L3 of ${worker.l3}, L2 of ${worker.l2}, core ${worker.core}`;
        if (!groups.has(key)) groups.set(key, []);
        groups.get(key).push(worker);
    }
    for (const [key, workers] of groups) {
        const width = Math.max(170, workers.length * 80 + 20);
        draw(picture, "rect", { x, y: 24, width, height: 130, rx: 6, class: "box" });
        draw(picture, "text", { x: x + 6, y: 16 }, key);
        for (const [i, worker] of workers.entries())
            showWorkerBox(picture, x + 10 + i * 80, worker, now.queues || []);
        x += width + 10;
    }
    picture.setAttribute("viewBox", `0 0 ${Math.max(x, 400)} 170`);
    at("topology").replaceChildren(picture);
}

function showWorkerBox(picture, x, worker, queues) {
    const own = queues.filter((queue) => queue.owner === worker.worker).slice(0, 40);
    draw(picture, "rect", { x, y: 34, width: 70, height: 26, rx: 4, class: "worker",
        "fill-opacity": 0.1 + 0.9 * (busy[worker.worker] || 0) });
    draw(picture, "text", { x: x + 6, y: 51 }, "worker " + worker.worker);
    for (const [i, queue] of own.entries()) {
        const box = draw(picture, "rect", { x: x + (i % 8) * 9, y: 66 + Math.floor(i / 8) * 9,
            width: 7, height: 7, class: queue.bytes ? "queue full" : "queue" });
        draw(box, "title", {}, `queue ${queue.id}: ${short(queue.bytes)} bytes wait`);
    }
}

function show(now) {
    const seconds = before ? (now.looked_ns - before.looked_ns) / 1e9 : 0;
    const state = at("state");
    document.body.classList.toggle("token", now.token);
    if (!now.readable) {
        state.textContent = "no service has run here";
        state.className = "down";
        before = null;
        return;
    }
    state.textContent = now.state + (now.up ? "" : ", and takes no messages");
    state.className = now.up ? "" : "down";
    showTotals(now, seconds);
    showWorkers(now, seconds);
    if (now.token) {
        showTopology(now);
        showTypes(now, seconds);
        showFlows(now);
        showLists(now);
    }
    before = now;
}

async function look() {
    const token = sessionStorage.getItem(KEY);
    try {
        const answer = await fetch("api/status.json", { cache: "no-store",
            headers: token ? { Authorization: "Bearer " + token } : {} });
        if (answer.status === 401) {
            sessionStorage.removeItem(KEY);
            at("said").textContent = "The token is not the right one.";
        } else if (answer.ok) {
            show(await answer.json());
            if (token) at("said").textContent = "";
        } else {
            at("said").textContent = "The exporter answers " + answer.status + ".";
        }
    } catch (error) {
        at("state").textContent = "the exporter does not answer";
        at("state").className = "down";
    }
    setTimeout(look, PERIOD_MS);
}

at("token-form").addEventListener("submit", (event) => {
    event.preventDefault();
    sessionStorage.setItem(KEY, at("token").value);
    at("token").value = "";
});
at("forget").addEventListener("click", () => sessionStorage.removeItem(KEY));
look();

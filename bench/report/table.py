"""From figures to the table: what, ours, the peer's, the ratio, the bar and whether it holds.

Figures are lists, one entry a round; the table shows medians. A bar is a claim about ours alone or about
the ratio, as docs/benchmarks.md states it; where the peer was not measured a ratio's bar is open.
"""
import statistics
from dataclasses import dataclass

import scheduling
import training


@dataclass
class Row:
    what: str
    ours: str
    peer: str = "–"
    ratio: str = "–"
    bar: str = "–"
    holds: str = ""


@dataclass
class Bar:
    text: str
    ratio_at_least: float = None   # how many times better than the peer
    ours_at_most: float = None
    ours_at_least: float = None


UNMEASURED = "–"


def rows(figures, plan, jobs, watchers):
    made = Rows(figures)
    made.add("start to first answered request", "start", unit="s", bar=Bar("≤ 200 ms", ours_at_most=0.2))
    made.add("idle: resident memory", "idle memory", unit="MB", bar=Bar("≤ 30 MB", ours_at_most=30))
    made.add("idle: processor", "idle cpu", unit="%", bar=Bar("≤ 0.1 %", ours_at_most=0.1))
    made.add("idle: wake-ups a second", "idle wakeups", unit="", bar=Bar("only due timers"))
    made.load("create a Job, 32 connections, durable", "create", Bar("≥ 10 ×", 10), rate_bar=Bar("≥ 8 ×", 8))
    made.load("get one Job, 16 connections", "get", Bar("≥ 12 ×", 12))
    made.load("merge patch of a label, 32 connections", "patch", Bar("≥ 12 ×", 12))
    for name, title in (("list", f"list {jobs:,} Jobs, JSON"), ("table", f"list {jobs:,} Jobs, Table")):
        made.add(f"{title}: server CPU", name, "cpu_us_each", unit="µs", bar=Bar("≥ 10 ×", 10))
        made.add(f"{title}: wall, p50", name, "p50_ms", unit="ms", bar=Bar("≥ 8 ×", 8))
        made.add(f"{title}: bytes", name, "bytes_each", unit="bytes", compare=False)
    made.add(f"resident with {jobs:,} Jobs", "resident with Jobs", unit="MB", bar=Bar("≤ 60 MB", ours_at_most=60))
    for rate, cpu_bar in ((10, Bar("≥ 4 ×", 4)), (50, Bar("≥ 2 ×", 2)), (200, Bar("≤ 6 µs", ours_at_most=6))):
        name, title = f"watch {rate}", f"watch, {watchers:,} watchers, {rate} writes/s"
        made.add(f"{title}: server CPU an event", name, "cpu_us_each", unit="µs", bar=cpu_bar)
        made.add(f"{title}: p50", name, "p50_ms", unit="ms")
        made.add(f"{title}: p99", name, "p99_ms", unit="ms",
                 bar=Bar("≥ 2 ×", 2) if rate == 10 else None)
        made.add(f"{title}: writes a second reached", name, "writes_per_second", unit="", compare=False)
        made.add(f"{title}: events a second", name, "per_second", unit="", compare=False)
        made.add(f"{title}: events missed", name, "missed", unit="", compare=False, bar=Bar("0", ours_at_most=0))
        made.add(f"{title}: watchers dropped", name, "dropped", unit="", compare=False,
                 bar=Bar("0", ours_at_most=0))
    made.add("resident after all of this", "resident at the end", unit="MB")
    add_many(made, figures, plan)
    training.rows(made, Bar)
    scheduling.rows(made, Bar)
    title = f"pull + unpack {plan.image_mb:,} MB in 10 layers from loopback (peer: skopeo + umoci)"
    made.add(f"{title}: wall", "image pull", "seconds", unit="s", bar=Bar("≥ 1.5 ×", 1.5))
    made.add(f"{title}: processor", "image pull", "cpu_seconds", unit="s")
    made.add(f"{title}: resident", "image pull", "resident_mb", unit="MB", compare=False,
             bar=Bar("≤ 64 MB", ours_at_most=64))
    made.add("pod of an unpacked image: first instruction later than on the host", "image pods", "later_ms", unit="ms", compare=False,
             bar=Bar("≤ 5 ms", ours_at_most=5))
    made.add("second container of an image of 20 MB: disk", "image pods", "second_kb", unit="kB", compare=False,
             bar=Bar("no copy", ours_at_most=1000))
    return made.rows


def add_many(made, figures, plan):
    title = f"{plan.many:,} objects"
    made.add(f"start with {title}", "many start", unit="s",
             bar=Bar("≤ 700 ms", ours_at_most=0.7) if plan.many == 100_000 else None)
    made.add(f"start with {title}: server CPU", "many start cpu", unit="s")
    creation = figures.get(("many made", "ours"))
    if not creation:
        return
    encoded_mb = creation[0]["operations"] * creation[0]["bytes_each"] / 1048576
    limit = 1.25 * encoded_mb + 40
    bar = Bar(f"≤ {limit:.0f} MB", ours_at_most=limit)  # 1.25 × the encoded bytes + 40 MB
    made.add(f"resident with {title} ({encoded_mb:.0f} MB encoded)", "many resident", unit="MB", bar=bar)
    made.add(f"resident with {title}, after a start", "many resident after start", unit="MB", bar=bar)
    made.add(f"resident with {title}, 75 s after a start: cold", "many resident cold", unit="MB",
             bar=Bar("≤ 400 MB", ours_at_most=400) if plan.many == 100_000 else None)


class Rows:
    def __init__(self, figures):
        self.figures = figures
        self.rows = []

    def load(self, title, name, cpu_bar, rate_bar=None):
        self.add(f"{title}: server CPU", name, "cpu_us_each", unit="µs", bar=cpu_bar)
        self.add(f"{title}: a second", name, "per_second", unit="", bar=rate_bar, more_is_better=True)
        self.add(f"{title}: p50", name, "p50_ms", unit="ms")
        self.add(f"{title}: p99", name, "p99_ms", unit="ms")

    def add(self, what, name, key=None, unit="", bar=None, compare=True, more_is_better=False):
        ours, peer = (self.median(name, server, key) for server in ("ours", "peer"))
        if ours is None:
            return
        ratio = None
        if compare and peer is not None and min(ours, peer) > 0:
            ratio = ours / peer if more_is_better else peer / ours
        self.rows.append(Row(what, shown(ours, unit), shown(peer, unit), UNMEASURED if ratio is None else f"{ratio:.1f} ×",
                             bar.text if bar else UNMEASURED, verdict(bar, ours, ratio)))

    def median(self, name, server, key):
        found = self.figures.get((name, server))
        if not found:
            return None
        return statistics.median(figure[key] if key else figure for figure in found)


def verdict(bar, ours, ratio):
    if bar is None or (bar.ratio_at_least is None and bar.ours_at_most is None and bar.ours_at_least is None):
        return ""
    if bar.ours_at_least is not None:
        return "yes" if ours >= bar.ours_at_least else "NO"
    if bar.ours_at_most is not None:
        return "yes" if ours <= bar.ours_at_most else "NO"
    if ratio is None:
        return "?"
    return "yes" if ratio >= bar.ratio_at_least else "NO"


def shown(value, unit):
    if value is None:
        return UNMEASURED
    if unit == "s" and value < 1:
        value, unit = value * 1e3, "ms"
    if unit == "µs" and value >= 10_000:
        value, unit = value / 1e3, "ms"
    if unit == "bytes":
        value, unit = value / 1e6, "MB"
    digits = 0 if value >= 100 or value == 0 else 1 if value >= 10 else 2
    return f"{value:,.{digits}f} {unit}".strip()


HEADINGS = Row("what (medians)", "ours", "kube-apiserver + etcd", "better by", "bar", "holds")


def cells(row):
    return [row.what, row.ours, row.peer, row.ratio, row.bar, row.holds]


def text(all_rows):
    lines = [cells(HEADINGS)] + [cells(row) for row in all_rows]
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    out = []
    for number, line in enumerate(lines):
        out.append("  ".join([line[0].ljust(widths[0])] +
                             [cell.rjust(width) for cell, width in zip(line[1:], widths[1:])]).rstrip())
        if number == 0:
            out.append("  ".join("-" * width for width in widths))
    return "\n".join(out)


def markdown(lines):
    return "\n".join("| " + " | ".join(line) + " |" for line in
                     [lines[0], ["---"] + ["---:"] * (len(lines[0]) - 1)] + lines[1:])


def spread(figures):
    """The server's processor time per operation in each round: how far the rounds lie apart."""
    lines = [["server CPU in µs, each round", "ours", "kube-apiserver + etcd"]]
    for name in ("create", "get", "patch", "list", "table", "watch 10", "watch 50", "watch 200"):
        line = [name]
        for server in ("ours", "peer"):
            found = figures.get((name, server), [])
            line.append(", ".join(f"{figure['cpu_us_each']:.4g}" for figure in found) or UNMEASURED)
        if line[1] != UNMEASURED:
            lines.append(line)
    return markdown(lines)


def client_share(figures):
    lines = [["the generator's own CPU in µs, an operation", "beside ours", "beside the peer"]]
    for name in ("create", "get", "patch", "list", "table", "watch 10", "watch 50", "watch 200"):
        line = [name]
        for server in ("ours", "peer"):
            found = [figure["client_cpu_s"] * 1e6 / figure["operations"] for figure in figures.get((name, server), [])]
            line.append(f"{statistics.median(found):.4g}" if found else UNMEASURED)
        if line[1] != UNMEASURED:
            lines.append(line)
    return markdown(lines)


def page(all_rows, figures, facts, pods):
    busy = "" if facts["load before"] <= 0.5 else " **The machine was busy: read these figures as rough.**"
    return f"""# Benchmarks

`make bench` measures ours and a real kube-apiserver 1.34.4 + etcd 3.6 in one run, on one machine, with one load
generator, and writes this page; `make bench QUICK=1` prints a rougher table in two minutes. On two cores the generator
and the server share the machine, so throughput alone says little: what counts is **server CPU per operation**, user and
system, of every process that serves it. [bench/peers/README.md](../bench/peers/README.md) says how the peer is built and
started; `bench/run --help` names the phases.

{facts["date"]}, commit {facts["commit"]}, {facts["processor"]}, {facts["memory"]}, Linux {facts["kernel"]}; load average
{facts["load before"]:.2f} before, {facts["steal"]:.1f} % of the processors' time stolen by neighbours, {facts["minutes"]:.1f} minutes.{busy}

{markdown([cells(HEADINGS)] + [cells(row) for row in all_rows])}

{pods}
## How it is measured

- The generator (`bench/load/`, one thread, epoll, OpenSSL) speaks HTTP/1.1 over TLS with a client certificate to both
  servers, in the same way. Connections are open before a measure begins; handshakes are not in it.
- The Job is 4.1 kB as both servers store it. It is suspended and managed by nobody, so no controller acts on it in ours;
  the peer runs without controllers. Every create and patch is answered after it is on the disk, in both.
- Each phase alternates between the two servers, and who goes first alternates too. The table shows medians of the rounds.
- CPU comes from `/proc/PID/stat`, in steps of 10 ms; a round is long enough for that to be a few percent at most.
- A watch event's latency runs from the sending of the PATCH to the arrival at one of the watchers, so the p99 holds the
  generator's own time to read a thousand events. Writes go to 64 objects from 32 connections on a fixed
  timetable; where all 32 wait for answers the timetable slips, and the row of writes reached says so.
- Start is from the start of the process in a new folder, so ours makes its certificates in it and the peer does not.

## Noise

Two shared cores: one run differs from the next by ten to twenty percent, and more where the machine is busy. Ratios of
one run are steadier than figures of two.

{spread(figures)}

{client_share(figures)}
"""

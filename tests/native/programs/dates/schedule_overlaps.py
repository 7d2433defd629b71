from dataclasses import dataclass
from datetime import datetime, timedelta
import heapq


@dataclass(order=True)
class Meeting:
    start: datetime
    end: datetime
    title: str = ""


def free(meetings, day_start, day_end):
    cur = day_start
    for m in sorted(meetings):
        if m.start > cur:
            yield cur, m.start
        cur = max(cur, m.end)
    if cur < day_end:
        yield cur, day_end


def rooms(meetings):
    heap, best = [], 0
    for m in sorted(meetings):
        while heap and heap[0] <= m.start:
            heapq.heappop(heap)
        heapq.heappush(heap, m.end)
        best = max(best, len(heap))
    return best


def main(args):
    d = datetime(2024, 5, 6)
    ms = [Meeting(d + timedelta(hours=h), d + timedelta(hours=h + l), t) for h, l, t in ((9, 1, "standup"), (9.5, 2, "review"), (13, 1, "lunch"), (13.5, .25, "call"))]
    return {"free": [f"{a:%H:%M}-{b:%H:%M}" for a, b in free(ms, d + timedelta(hours=8), d + timedelta(hours=17))], "rooms": rooms(ms), "repr": repr(ms[0]), "overlap": [(a.title, b.title) for i, a in enumerate(ms) for b in ms[i + 1:] if a.start < b.end and b.start < a.end], "tot": str(sum((m.end - m.start for m in ms), timedelta()))}

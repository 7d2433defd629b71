# script
import json
from collections import defaultdict
from datetime import datetime, timedelta

events = [("u1", "2024-05-01T10:00:00"), ("u1", "2024-05-01T10:20:00"), ("u2", "2024-05-01T10:05:00"), ("u1", "2024-05-01T11:30:00"), ("u2", "2024-05-02T00:00:01")]
sessions = defaultdict(list)
for user, ts in sorted(events, key=lambda e: (e[0], e[1])):
    t = datetime.fromisoformat(ts)
    if sessions[user] and t - sessions[user][-1][-1] <= timedelta(minutes=30):
        sessions[user][-1].append(t)
    else:
        sessions[user].append([t])
for user, ss in sessions.items():
    for i, s in enumerate(ss, 1):
        print(f"{user} session {i}: {len(s)} events, {s[0]:%H:%M}-{s[-1]:%H:%M} ({s[-1] - s[0]})")
print(json.dumps({u: len(s) for u, s in sessions.items()}))
json.dumps({"now": datetime(2024, 1, 1)})

import asyncio


async def main_async():
    out = {}
    try:
        p = await asyncio.create_subprocess_exec("echo", "hi", stdout=asyncio.subprocess.PIPE)
        o, _ = await p.communicate()
        out["echo"] = o.decode().strip()
    except (OSError, NotImplementedError) as e:
        out["echo_err"] = True
    return out


def main(args):
    r = asyncio.run(main_async())
    return {"ran": bool(r)}

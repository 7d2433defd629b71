def main(args):
    state, out = 12345, []
    for _ in range(5):
        state = (6364136223846793005 * state + 1442695040888963407) % 2**64
        out.append(state >> 33)
    return out

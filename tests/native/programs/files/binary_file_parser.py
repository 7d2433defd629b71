import struct
import wave
import io


def main(args):
    import math
    with wave.open("t.wav", "wb") as w:
        w.setnchannels(1)
        w.setsampwidth(2)
        w.setframerate(8000)
        w.writeframes(b"".join(struct.pack("<h", int(20000 * math.sin(i * 0.1))) for i in range(800)))
    with wave.open("t.wav") as w:
        p = tuple(w.getparams())[:4]
        peak = max(abs(v[0]) for v in struct.iter_unpack("<h", w.readframes(800)))
    from scipy.io import wavfile
    rate, data = wavfile.read("t.wav")
    bmp = b"BM" + struct.pack("<IHHI", 54 + 12, 0, 0, 54) + struct.pack("<IiiHHIIiiII", 40, 2, 2, 1, 24, 0, 12, 0, 0, 0, 0) + bytes([255, 0, 0, 0, 255, 0, 0, 0]) + bytes([0, 0, 255, 9, 9, 9, 0, 0])
    from PIL import Image
    im = Image.open(io.BytesIO(bmp))
    return {"p": p, "peak": peak, "rate": rate, "energy": int((data.astype(int) ** 2).sum()), "raw": int(data.astype("int64").sum()), "px": [im.getpixel((x, y)) for y in (0, 1) for x in (0, 1)], "riff": open("t.wav", "rb").read(12).hex()}

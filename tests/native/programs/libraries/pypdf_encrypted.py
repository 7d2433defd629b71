import base64
import io

import pdfplumber
import pypdf
from reportlab.pdfgen.canvas import Canvas

# Written by qpdf.
FILES = {
    "qpdf AES-256": ("user", """
JVBERi0xLjcKJb/3ov4KMSAwIG9iago8PCAvRXh0ZW5zaW9ucyA8PCAvQURCRSA8PCAvQmFzZVZlcnNpb24gLzEuNyAvRXh0ZW5zaW9uTGV2ZWwgOC
A+PiA+PiAvUGFnZU1vZGUgL1VzZU5vbmUgL1BhZ2VzIDcgMCBSIC9UeXBlIC9DYXRhbG9nID4+CmVuZG9iagoyIDAgb2JqCjw8IC9UeXBlIC9PYmpT
dG0gL0xlbmd0aCA0MDAgL0ZpbHRlciAvRmxhdGVEZWNvZGUgL04gNSAvRmlyc3QgMjcgPj4Kc3RyZWFtCvOZabnZtxSvkCaj0b1iooN6LFoaR5tXDb
PDA5BMmOvkewA247uk0Iqp9JIH2YwMi9tkTdUpYXfe5FtEJ82p4YEs8MH1ccEKP1XdxKF/Q70T2l6dfWXyVoeouiP9KPLnXnT08+0hOESxVAsp6iW+
0zysGgZROMoQStop3nOPKnuUjPp2M7wBJ5JYy9nH22HKU2+seo7n42Klqil3IWuquFHyIfVvAN3yjzGedzLAX6kPRTeUl9OhlY0NU7ih5yA8IU8wlY
0lqVvBPWVzQy5YEJ73be1EMahLy7WofmbKDCcwqsp1eJMOQGvM0Sj0eRCTiZQsiQnJadobP2GD7h4fNJn6DRIkKHQ0udDjWcPzTxRLy9JV/AZxBsvP
ZBRdN0VWkBzCRh1NKQnZyONnYK8KJYxRo0a1r/ngh8zk7qXwRHfcy6ByrYGQqXUueAVtOEHQXIn5FLwBoLcJo98fNQhSPXRM7YMNq67M2mczlFcfWi
bXkChyrIMQLutAdPQgU0dJhM5Sy1SUc05bhX8fexv8+0IKZW5kc3RyZWFtCmVuZG9iago4IDAgb2JqCjw8IC9MZW5ndGggMTEyIC9GaWx0ZXIgL0Zs
YXRlRGVjb2RlID4+CnN0cmVhbQq/tSeoK6V4S+yjAtsAsweS1vlfGCYfZKIfmEBW/2HbZKBiZuP8WmH5t86HncsIPwdscvOCzyN1I1jLwWv9B29oN0
p74fJGa2UUAEv6MizkHZ0dqBbs2c2E/62RGb5WY5RBh56x/YQR3tmzaie2lJC7CmVuZHN0cmVhbQplbmRvYmoKOSAwIG9iago8PCAvQ0YgPDwgL1N0
ZENGIDw8IC9BdXRoRXZlbnQgL0RvY09wZW4gL0NGTSAvQUVTVjMgL0xlbmd0aCAzMiA+PiA+PiAvRmlsdGVyIC9TdGFuZGFyZCAvTGVuZ3RoIDI1Ni
AvTyA8OGRjN2UyYmJjNDU2YmNlYmUwYzYwOTkwNjIzNjVjMTRmNDY2N2I1ODY2NjhjNWE4YTE5OTkwNGJlYzM2YmQ0MGQ5ZWUwMjNiZGM4YTg3YzVl
ZmNmYzUxZjk5ZTUyZDY4PiAvT0UgPDMxNWE4YzM2MzIyZGQyNmQxOTljM2IxMWFkYWFlZTc1MDQ1NTQ3NmUwOTYyYjhjOTlkZmZiYTZjOTEzYzQ3ND
c+IC9QIC0xMDI4IC9QZXJtcyA8OTc5NzY2ZWNlYzQ2NWM3Yjg1M2FhNGJmMjRhYTUwN2I+IC9SIDYgL1N0bUYgL1N0ZENGIC9TdHJGIC9TdGRDRiAv
VSA8MTFiZjBhZGU4YjM3ZjdkZjhmNWJhZjVjN2FkZTA5MWUxMDEyYzNhZTc1ZDY1YjkyYmIzNDZhZGU3ZDVkM2U4MjU0YjgwYmUzMWNiMDJiNTQ2Y2
MyMzMyYWY1OTlhZGIzPiAvVUUgPDllYjM0MDNhNjZiYjcyYzhkODE4YThhNDYyYjI2N2IyNDQ1NDg0ZTk2NzcwOTllMDA0ZmY0MjVhMjk2NmNhYzY+
IC9WIDUgPj4KZW5kb2JqCjEwIDAgb2JqCjw8IC9UeXBlIC9YUmVmIC9MZW5ndGggNDIgL0ZpbHRlciAvRmxhdGVEZWNvZGUgL0RlY29kZVBhcm1zID
w8IC9Db2x1bW5zIDQgL1ByZWRpY3RvciAxMiA+PiAvVyBbIDEgMiAxIF0gL0luZm8gNiAwIFIgL1Jvb3QgMSAwIFIgL1NpemUgMTEgL0lEIFs8MmY4
MGMyNzBjMTMxZWM3NTg5M2QyZDNhNDQ4YTliZTk+PGVkNmEwNmU0YTcxYWJmMDBhMWRmOTA4NTZlODA0MDE1Pl0gL0VuY3J5cHQgOSAwIFIgPj4Kc3
RyZWFtCnicY2IAAiZGBn4GJgaGNhArF8RiYEQn/jN1/GFiYNwBlGVSYwAAUKEEhQplbmRzdHJlYW0KZW5kb2JqCnN0YXJ0eHJlZgoxMzg0CiUlRU9G
Cg==
"""),
    "qpdf AES-128": ("", """
JVBERi0xLjYKJb/3ov4KMSAwIG9iago8PCAvUGFnZU1vZGUgL1VzZU5vbmUgL1BhZ2VzIDcgMCBSIC9UeXBlIC9DYXRhbG9nID4+CmVuZG9iagoyID
Agb2JqCjw8IC9UeXBlIC9PYmpTdG0gL0xlbmd0aCA0MDAgL0ZpbHRlciAvRmxhdGVEZWNvZGUgL04gNSAvRmlyc3QgMjcgPj4Kc3RyZWFtCjrKHSF4
sohk4o8tq8A9cjDTOuDClQQXJNT4xN3lz2zq6JDuzbZf3lKwXGHMFExSaJ1EG36E5vuSsOC+XY/ii6Np/fGx+2Ips+1xVypTvgIUoupoFrrnC0kc4f
fF2XY6ovHqOv5zMCAzp9i517sOYcar7j0xCwyiVKBw5lfQaEyGF6NURsDaAcSpuy4q7PVFQa2eDBh3oULJkmpxwKaW0UG79kkpPt6Y1L9E09eq2Snc
HY5qsunlHvQGzTrPON0z7I5GW/5mG4fq7mrfV4xLmn/+AO4i8QTi8+Aza76lVYGwqAYwJgIyiVgcS3GR3WUSPXAkhtuidHM2mX9bXVALSYFmypS+lh
X0WTcbn3sUoKTa0irLXioV7L3s1UzbezVjv4/fJIqE/Q/BT28WRueNjmIw1ktMB0T0dSQSVEu0OEtfqW13JyiinO58pJZK/fxtf4uKyyAEY9lSjYGa
A0SU58afj7m4xelj9B5goKIY6ZLMxHoJWFFYISwotCgxJ1gf3KBhw4Tq8k07R0YPKy4tOOwKZW5kc3RyZWFtCmVuZG9iago4IDAgb2JqCjw8IC9MZW
5ndGggMTEyIC9GaWx0ZXIgL0ZsYXRlRGVjb2RlID4+CnN0cmVhbQo74inKFQpQqfE60Kgmf7fueQddc26WEX8kX/FujOtfKmjcGZbJYUumn1qO/JTT
oeI334nsT/ct4s6zJxrKLU2tXeHqecavVzsouryZxaJ+t2uV+Z5qYOfSB5PMkZN51+5kbCdIx5iPdEF2h8dNVBcTCmVuZHN0cmVhbQplbmRvYmoKOS
AwIG9iago8PCAvQ0YgPDwgL1N0ZENGIDw8IC9BdXRoRXZlbnQgL0RvY09wZW4gL0NGTSAvQUVTVjIgL0xlbmd0aCAxNiA+PiA+PiAvRmlsdGVyIC9T
dGFuZGFyZCAvTGVuZ3RoIDEyOCAvTyA8NTY2ZmE4NzNlZTMzYzc5N2NkM2I5MDRmZGFkZjgxNGFmYTM0ZGY5YTM4ZjZlZDQxYjk4NGUyYzZkYTJhYT
ZmNT4gL09FIDw+IC9QIC0xMDI4IC9SIDQgL1N0bUYgL1N0ZENGIC9TdHJGIC9TdGRDRiAvVSA8YTRjNWQ2MWZiZmZlZWVhNGZmMTA0MzYzNTkxY2Ez
YmMwMDIxNDQ2OTkwYjllNDExNDA3MWE0ZDkxMDQ5ODRjMT4gL1VFIDw+IC9WIDQgPj4KZW5kb2JqCjEwIDAgb2JqCjw8IC9UeXBlIC9YUmVmIC9MZW
5ndGggNDIgL0ZpbHRlciAvRmxhdGVEZWNvZGUgL0RlY29kZVBhcm1zIDw8IC9Db2x1bW5zIDQgL1ByZWRpY3RvciAxMiA+PiAvVyBbIDEgMiAxIF0g
L0luZm8gNiAwIFIgL1Jvb3QgMSAwIFIgL1NpemUgMTEgL0lEIFs8MmY4MGMyNzBjMTMxZWM3NTg5M2QyZDNhNDQ4YTliZTk+PGVkNmEwNmU0YTcxYW
JmMDBhMWRmOTA4NTZlODA0MDE1Pl0gL0VuY3J5cHQgOSAwIFIgPj4Kc3RyZWFtCnicY2IAAiZGBn4GJgYGFxBrPYjFwIhO/Gdy+8PEwLgDKMtowwAA
TGgEWAplbmRzdHJlYW0KZW5kb2JqCnN0YXJ0eHJlZgoxMDg0CiUlRU9GCg==
"""),
    "qpdf AES-128 without metadata": ("", """
JVBERi0xLjYKJb/3ov4KMSAwIG9iago8PCAvUGFnZU1vZGUgL1VzZU5vbmUgL1BhZ2VzIDcgMCBSIC9UeXBlIC9DYXRhbG9nID4+CmVuZG9iagoyID
Agb2JqCjw8IC9UeXBlIC9PYmpTdG0gL0xlbmd0aCA0MDAgL0ZpbHRlciAvRmxhdGVEZWNvZGUgL04gNSAvRmlyc3QgMjcgPj4Kc3RyZWFtCmKgTGpi
+OKkrq0q+6p4NaokWAsJLCy6Jw/E28KOBkdZbKiV8nULCmmAOWZD+ZuvDcZmpy+4BOIlL9rA2OPwFzux9olZQXflhbgy8J8YaGrBe32OZpT9KnsqeN
lnebVnn03WQyuu6oHpEUtEf/OBlIWG9/ncG/VEYw1/F2WoBOKUReEIVszqEZSk2sMJyBrjHGR8dh24Udii730GGBnHSqPMCCCXgGEvSIyS2KIrryeH
u64/R7pzPldgQhQ3cZnrewJZGwQfkIwx8zHO79NdJXJrgYaMQUV1Nsw2i9P6nuPWJdD2UBe04xCBxoKTREQCRNa0ZE6UtyfihE5/e9TFEzEMfTqZc7
EGisoiNAVZPXLlLZoyxvMYVUvGwu1alcDzICfRFpwvM9wNoJsMWuaTA6swYSZ55xTw3hkjyHnmM275VvpFsMlpf4dEf7k2FbJ63A5Tb36VHXyUbt3/
HwxmIUfokh266NMtStgGavv4MMYE0y8IiQVTPqjI7XfvkNLkdcILFVFCpGAH0w/QmLvd7oIKZW5kc3RyZWFtCmVuZG9iago4IDAgb2JqCjw8IC9MZW
5ndGggMTEyIC9GaWx0ZXIgL0ZsYXRlRGVjb2RlID4+CnN0cmVhbQrJuB4UdcSR06ZRSi4gZK4jPXxphgqey0oQb9Czv4P8VtBZvPMPaChvmkxzXlgX
7AGk2bV/UWWJZu9JYDDA9ncTAcbjaVZKCcvMOwpfEl4D1HMcmx5b7ZQPbYMjZeBXE/h/MJa4smq2/l6boqEY0ML5CmVuZHN0cmVhbQplbmRvYmoKOS
AwIG9iago8PCAvQ0YgPDwgL1N0ZENGIDw8IC9BdXRoRXZlbnQgL0RvY09wZW4gL0NGTSAvQUVTVjIgL0xlbmd0aCAxNiA+PiA+PiAvRW5jcnlwdE1l
dGFkYXRhIGZhbHNlIC9GaWx0ZXIgL1N0YW5kYXJkIC9MZW5ndGggMTI4IC9PIDw1NjZmYTg3M2VlMzNjNzk3Y2QzYjkwNGZkYWRmODE0YWZhMzRkZj
lhMzhmNmVkNDFiOTg0ZTJjNmRhMmFhNmY1PiAvT0UgPD4gL1AgLTEwMjggL1IgNCAvU3RtRiAvU3RkQ0YgL1N0ckYgL1N0ZENGIC9VIDw3NTI3NTAx
NTk0MGYwMzg1MzhiMWIwNzk5NTUyYjk3MzAwMjE0NDY5OTBiOWU0MTE0MDcxYTRkOTEwNDk4NGMxPiAvVUUgPD4gL1YgNCA+PgplbmRvYmoKMTAgMC
BvYmoKPDwgL1R5cGUgL1hSZWYgL0xlbmd0aCA0MiAvRmlsdGVyIC9GbGF0ZURlY29kZSAvRGVjb2RlUGFybXMgPDwgL0NvbHVtbnMgNCAvUHJlZGlj
dG9yIDEyID4+IC9XIFsgMSAyIDEgXSAvSW5mbyA2IDAgUiAvUm9vdCAxIDAgUiAvU2l6ZSAxMSAvSUQgWzwyZjgwYzI3MGMxMzFlYzc1ODkzZDJkM2
E0NDhhOWJlOT48ZWQ2YTA2ZTRhNzFhYmYwMGExZGY5MDg1NmU4MDQwMTU+XSAvRW5jcnlwdCA5IDAgUiA+PgpzdHJlYW0KeJxjYgACJkYGfgYmBgYX
EGs9iMXAiE78Z3L7w8TAuAMoyxjMAABMlgRvCmVuZHN0cmVhbQplbmRvYmoKc3RhcnR4cmVmCjExMDcKJSVFT0YK
"""),
}


def shown(content, password):
    reader = pypdf.PdfReader(io.BytesIO(content))
    kind = reader.decrypt(password).name
    if kind == "NOT_DECRYPTED":
        return [reader.is_encrypted, kind]
    page = reader.pages[0].extract_text().strip()
    return [reader.is_encrypted, kind, page, reader.metadata.title if reader.metadata else None]


def written(algorithm, user, owner):
    file = io.BytesIO()
    canvas = Canvas(file, pagesize=(200, 100))
    canvas.setTitle(f"With {algorithm}")
    canvas.drawString(20, 50, "Written here")
    canvas.save()
    file.seek(0)
    writer = pypdf.PdfWriter(clone_from=pypdf.PdfReader(file))
    writer.encrypt(user, owner, algorithm=algorithm, permissions_flag=-44)
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


def main(args):
    found = []
    for name, (user, text) in FILES.items():
        content = base64.b64decode(text)
        # The passwords of the newest kind take a second or two each.
        for password in [user] if name == "qpdf AES-256" else dict.fromkeys([user, "owner", "wrong"]):
            found.append([name, password, *shown(content, password)])
    try:
        pypdf.PdfReader(io.BytesIO(written("AES-128", "user", "owner"))).pages[0]
    except pypdf.errors.FileNotDecryptedError as error:
        found.append(str(error))
    for algorithm in ("RC4-40", "RC4-128", "AES-128", "AES-256-R5", "AES-256"):
        content = written(algorithm, "user", "owner")
        found.append([algorithm, *shown(content, "user")])
        if algorithm != "AES-256":
            found += [shown(content, "owner"), shown(content, "other")]
            with pdfplumber.open(io.BytesIO(content), password="user") as pdf:
                found.append(pdf.pages[0].extract_text())
        assert b"Written" not in content and b"With" not in content
    return found

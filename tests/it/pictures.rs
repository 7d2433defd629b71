//! Pictures: JPEG, WebP, type and PDF, as Pillow and matplotlib write and read them.
//!
//! `tests/fixtures/pictures` has files that native Pillow wrote and what it reads from them;
//! `scripts/record-pictures` makes them.

use std::fs;

use serde_json::{Value, json};

use crate::support::{Client, TestServer, failed, output, repository};

/// The value that a program returned, which is not an object.
fn answer(result: &Value) -> Value {
    output(result)["result"].clone()
}

/// Runs a program that gets a fixture as `data` and what native Pillow reads from it as `native`.
fn with_fixture(client: &Client, name: &str, code: &str) -> Value {
    let path = repository("tests/fixtures/pictures").join(name);
    let native = path.with_file_name(format!("{name}.raw"));
    let [data, native] = [path, native].map(|path| fs::read(path).unwrap());
    let [data, native] = [data, native].map(|bytes| data_encoding::BASE64.encode(&bytes));
    let head = format!(
        "import base64, io\nfrom PIL import Image\ndata = base64.b64decode('{data}')\n\
         native = base64.b64decode('{native}')\n"
    );
    answer(&client.run(&(head + code)))
}

const COMPARE: &str = "import numpy as np
def main(args):
    picture = Image.open(io.BytesIO(data))
    rows = []
    for number in range(getattr(picture, 'n_frames', 1)):
        picture.seek(number)
        rows.append(picture.tobytes())
    ours, theirs = (np.frombuffer(b, 'u1').astype(int) for b in (b''.join(rows), native))
    difference = abs(ours - theirs)
    return [picture.format, picture.mode, int(difference.max()), float(difference.mean())]
";

#[test]
fn files_of_native_pillow_hold_the_same_pixels() {
    let client = TestServer::shared().client();
    for (name, kind, mode, most, mean) in [
        ("photo.jpg", "JPEG", "RGB", 4, 0.5),
        ("progressive.jpg", "JPEG", "RGB", 4, 0.5),
        ("cmyk.jpg", "JPEG", "CMYK", 2, 0.1),
        ("photo.webp", "WEBP", "RGB", 0, 0.0),
        ("alpha.webp", "WEBP", "RGBA", 0, 0.0),
        ("animation.webp", "WEBP", "RGBA", 0, 0.0),
    ] {
        let seen = with_fixture(&client, name, COMPARE);
        assert_eq!(seen[0], kind, "{name}");
        assert_eq!(seen[1], mode, "{name}");
        assert!(seen[2].as_i64().unwrap() <= most, "{name}: {seen}");
        assert!(seen[3].as_f64().unwrap() <= mean, "{name}: {seen}");
    }
}

#[test]
fn metadata_of_a_jpeg_survives_both_ways() {
    let code = "def main(args):
    a = Image.open(io.BytesIO(data))
    out = io.BytesIO()
    info = {k: a.info[k] for k in ('icc_profile', 'dpi')}
    a.save(out, 'JPEG', exif=a.getexif(), comment=b'hello', quality=95, progressive=True, **info)
    b = Image.open(io.BytesIO(out.getvalue()))
    return [[dict(i.getexif()), i.info['dpi'], i.info['comment'].decode(),
             len(i.info['icc_profile']) > 300, i.info['icc_profile'] == a.info['icc_profile'],
             bool(i.info.get('progressive'))] for i in (a, b)]
";
    let seen = with_fixture(&TestServer::shared().client(), "photo.jpg", code);
    let expected = |progressive: bool| json!([{"274": 6, "270": "desc"}, [150, 150], "hello", true, true, progressive]);
    assert_eq!(seen, json!([expected(false), expected(true)]));
}

/// Programs and what native Pillow answers.
const PROGRAMS: [(&str, &str); 16] = [
    // Quality and subsampling change what is written, and are read back.
    (
        "def size(**how):
    out = io.BytesIO(); photo.save(out, 'JPEG', **how); return out.getvalue()
def main(args):
    small, large = size(quality=30), size(quality=95)
    layers = [Image.open(io.BytesIO(size(subsampling=s))).layer[0][1:3] for s in (0, 1, 2, '4:4:4')]
    kept = size(quality=90, qtables='web_low')
    return [len(small) < len(large) / 2, layers, len(size(optimize=True)) <= len(size()),
            Image.open(io.BytesIO(size(quality=50))).quantization[0][:4], len(kept) > 0]",
        "[true, [[1, 1], [2, 1], [2, 2], [1, 1]], true, [16, 11, 10, 16], true]",
    ),
    (
        "def main(args):
    out = []
    for mode in ('RGBA', 'P', 'LA', 'I', 'F'):
        try:
            photo.convert('L').convert(mode).save(io.BytesIO(), 'JPEG'); out.append('written')
        except OSError as e:
            out.append(str(e))
    return out",
        "[\"cannot write mode RGBA as JPEG\", \"cannot write mode P as JPEG\", \
          \"cannot write mode LA as JPEG\", \"cannot write mode I as JPEG\", \
          \"cannot write mode F as JPEG\"]",
    ),
    // `draft` reads a smaller picture, in another mode, before anything is decoded.
    (
        "def main(args):
    out = io.BytesIO(); photo.save(out, 'JPEG', quality=95)
    i = Image.open(io.BytesIO(out.getvalue())); i.draft('L', (64, 64))
    size = i.size; i.load()
    t = Image.open(io.BytesIO(out.getvalue())); t.thumbnail((32, 32))
    return [size, i.mode, i.size, abs(i.getpixel((30, 30)) - photo.convert('L').reduce(2).getpixel((30, 30))) < 8,
            t.size]",
        "[[128, 100], \"L\", [128, 100], true, [32, 25]]",
    ),
    // A truncated file is an error, unless the program accepts it.
    (
        "from PIL import ImageFile
def main(args):
    out = io.BytesIO(); photo.save(out, 'JPEG'); half = out.getvalue()[:2000]
    i = Image.open(io.BytesIO(half)); said = [i.size]
    try:
        i.load()
    except OSError as e:
        said.append(str(e).split(' (')[0])
    ImageFile.LOAD_TRUNCATED_IMAGES = True
    i = Image.open(io.BytesIO(half)); i.load()
    return said + [i.getpixel((0, 0)) != (0, 0, 0)]",
        "[[256, 200], \"image file is truncated\", true]",
    ),
    // A file with something behind its end, and one behind another.
    (
        "def main(args):
    out = io.BytesIO(); photo.save(out, 'JPEG'); photo.rotate(90, expand=True).save(out, 'JPEG')
    out.write(b'more'); out.seek(0)
    a = Image.open(out); a.load()
    return [a.size, a.getpixel((128, 100)) != (0, 0, 0)]",
        "[[256, 200], true]",
    ),
    (
        "def main(args):
    frames = [Image.new('RGB', (20, 10), c) for c in ('red', 'lime', 'blue')]
    frames[0].save('a.webp', save_all=True, append_images=frames[1:], duration=[10, 20, 30], loop=2,
                   lossless=True)
    i = Image.open('a.webp'); seen = []
    for n in range(i.n_frames):
        i.seek(n); i.load(); seen.append([i.getpixel((3, 3))[:3], i.info['duration']])
    i.seek(0)
    same = [Image.new('RGB', (8, 8))] * 3
    same[0].save('b.webp', save_all=True, append_images=same[1:], duration=40)
    return [i.mode, Image.open('b.webp').n_frames,
            i.n_frames, i.is_animated, i.info['loop'], seen, i.getpixel((0, 0))[:3]]",
        "[\"RGB\", 1, 3, true, 2, [[[255, 0, 0], 10], [[0, 255, 0], 20], [[0, 0, 255], 30]], [255, 0, 0]]",
    ),
    (
        "def main(args):
    e = Image.Exif(); e[0x010e] = 'desc'; out = io.BytesIO()
    photo.save(out, 'WEBP', exif=e, icc_profile=b'p' * 31, xmp=b'<x/>', lossless=True)
    i = Image.open(io.BytesIO(out.getvalue()))
    return [dict(i.getexif()), len(i.info['icc_profile']), i.info['xmp'].decode(), i.mode,
            Image.open(io.BytesIO(out.getvalue())).convert('RGB').tobytes() == photo.tobytes()]",
        "[{\"270\": \"desc\"}, 31, \"<x/>\", \"RGB\", true]",
    ),
    // The error of an unsupported function names a replacement.
    (
        "def main(args):
    said = []
    for act in (lambda: photo.save('x.avif'), lambda: photo.save(io.BytesIO(), 'AVIF'),
                lambda: Image.open(io.BytesIO(b'\\0\\0\\0\\x1cftypavif' + b'\\0' * 40)),
                lambda: photo.save(io.BytesIO(), 'JPEG', smooth=50)):
        try:
            act()
        except OSError as e:
            said.append(str(e))
    return said",
        "[\"AVIF cannot be written here; use PNG, JPEG or WebP\", \
          \"AVIF cannot be written here; use PNG, JPEG or WebP\", \
          \"AVIF cannot be read here; use PNG, JPEG or WebP\", \
          \"smooth=... and streamtype=... of JPEG are not available here\"]",
    ),
    // By default WebP is lossy, and `quality` controls the loss.
    (
        "import numpy as np
def size(**how):
    out = io.BytesIO(); photo.save(out, 'WEBP', **how); return out
def main(args):
    kept, usual = size(lossless=True), size()
    low, high = (size(quality=q) for q in (10, 95))
    sizes = [len(low.getvalue()), len(usual.getvalue()), len(high.getvalue()), len(kept.getvalue())]
    error = lambda o: float(abs(np.asarray(Image.open(o)).astype(int) - np.asarray(photo)).mean())
    errors = [error(low), error(usual), error(high), error(kept)]
    return [sizes == sorted(sizes), sizes[1] < sizes[3] / 2, errors == sorted(errors)[::-1],
            errors[1] < 3, errors[3]]",
        "[true, true, true, true, 0.0]",
    ),
    (
        "def saved(image, **how):
    out = io.BytesIO(); image.save(out, 'WEBP', **how); return Image.open(io.BytesIO(out.getvalue()))
def main(args):
    clear = photo.convert('RGBA'); clear.putalpha(Image.linear_gradient('L').resize((256, 200)))
    alpha = [saved(clear, **how) for how in ({}, {'lossless': True}, {'lossless': True, 'exact': True})]
    same = [i.getchannel('A').tobytes() == clear.getchannel('A').tobytes() for i in alpha]
    said = []
    for how in ({'quality': 101}, {'method': 7}, {'quality': 'x'}):
        try:
            saved(photo, **how)
        except ValueError as e:
            said.append(str(e))
    return [[i.mode for i in alpha], same, [i.getpixel((9, 0)) for i in alpha[1:]],
            clear.getpixel((9, 0)), saved(photo.convert('RGBA')).mode, saved(photo.convert('L')).mode, said]",
        "[[\"RGBA\", \"RGBA\", \"RGBA\"], [true, true, true], [[0, 0, 0, 0], [0, 247, 9, 0]], \
          [0, 247, 9, 0], \"RGB\", \"RGB\", [\"invalid configuration\", \"invalid configuration\", \
          \"could not convert string to float: 'x'\"]]",
    ),
    (
        "def main(args):
    frames = [photo.rotate(n * 30).convert('RGBA') for n in range(3)]
    frames[0].save('a.webp', save_all=True, append_images=frames[1:], duration=40, quality=70)
    i = Image.open('a.webp'); i.seek(2); i.load()
    return [i.n_frames, i.mode, i.info['duration'], abs(i.getpixel((128, 90))[1] - frames[2].getpixel((128, 90))[1]) < 9]",
        "[3, \"RGBA\", 40, true]",
    ),
    (
        "from PIL import features
def main(args):
    return [features.check(n) for n in ('jpg', 'webp', 'freetype2', 'zlib', 'raqm')]",
        "[true, true, true, true, true]",
    ),
    (
        "from pypdf import PdfReader
def main(args):
    photo.save('o.pdf', save_all=True, append_images=[photo.convert('L')])
    photo.save('o.pdf', append=True)
    pages = PdfReader('o.pdf').pages
    return [len(pages), pages[0].images[0].image.size]",
        "[3, [256, 200]]",
    ),
    (
        "import matplotlib.pyplot as plt
def main(args):
    plt.plot([1, 2]); seen = []
    for name in ('a.jpg', 'a.jpeg', 'a.webp'):
        plt.savefig(name, dpi=50); i = Image.open(name); seen.append([i.format, i.size])
    return seen",
        "[[\"JPEG\", [320, 240]], [\"JPEG\", [320, 240]], [\"WEBP\", [320, 240]]]",
    ),
    // Numbers of native Pillow 13 with DejaVu Sans.
    (
        "import os, matplotlib
from PIL import ImageDraw, ImageFont
def main(args):
    f = ImageFont.truetype('DejaVuSans.ttf', 20); d = ImageDraw.Draw(photo)
    return [f.getname(), f.getmetrics(), f.getlength('Wide'), f.getbbox('AVAV To'),
            d.textbbox((10, 10), 'gj', font=f, anchor='mm'), d.textlength('fi', font=f),
            f.getbbox('(f', stroke_width=2), d.multiline_textbbox((0, 0), 'a\\nb', font=f)]",
        "[[\"DejaVu Sans\", \"Book\"], [19, 5], 49.921875, [0, 4, 78, 19], [1, 2, 19, 21], 12.59375, \
          [-2, 2, 18, 24], [0, 8, 13, 42]]",
    ),
    (
        "from PIL import ImageDraw, ImageFont
def main(args):
    f = ImageFont.load_default(size=24); i = Image.new('L', (120, 40), 255)
    d = ImageDraw.Draw(i); d.text((5, 5), 'Agj', font=f, fill=0)
    d.multiline_text((60, 0), 'a\\nb', font=ImageFont.load_default(12), fill=0, stroke_width=1)
    said = []
    for name in ('nowhere.ttf', '/blobs'):
        try:
            ImageFont.truetype(name, 10)
        except OSError as e:
            said.append(str(e))
    return [f.getname(), f.getbbox('Agj'), f.getlength('Wide'), i.getextrema()[0] < 10, said]",
        "[[\"Aileron\", \"Regular\"], [0, 7, 35, 29], 56.0, true, [\"cannot open resource\", \
          \"cannot open resource\"]]",
    ),
];

#[test]
fn programs_answer_as_with_native_pillow() {
    let head = "import io\nfrom PIL import Image\n\
                photo = Image.merge('RGB', [Image.linear_gradient('L'), Image.radial_gradient('L'), \
                Image.linear_gradient('L').rotate(90)]).resize((256, 200))\n";
    let client = TestServer::shared().client();
    for (code, expected) in PROGRAMS {
        let expected: Value = serde_json::from_str(expected).unwrap();
        assert_eq!(answer(&client.run(&format!("{head}{code}\n"))), expected, "{code}");
    }
}

/// A small JPEG that says that it has so many pixels.
const BOMB: &str = "import io
from PIL import Image
Image.MAX_IMAGE_PIXELS = None
def bomb(width, height):
    out = io.BytesIO(); Image.new('RGB', (16, 16)).save(out, 'JPEG')
    data = bytearray(out.getvalue()); at = data.find(b'\\xff\\xc0')
    data[at + 5 : at + 9] = height.to_bytes(2) + width.to_bytes(2)
    return io.BytesIO(data)
";

#[test]
fn what_is_shown_is_left_once() {
    let client = TestServer::shared().client();
    for (code, names) in [
        // As models write it: saved, then shown.
        (
            "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.savefig('mine.png')\nplt.show()",
            &["mine.png"][..],
        ),
        // No picture of what is shown, or of what it has become.
        (
            "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.savefig('mine.pdf')\nplt.show()",
            &["figure-1.png", "mine.pdf"],
        ),
        (
            "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.savefig('mine.png')\n\
             plt.title('changed')\nplt.show()",
            &["figure-1.png", "mine.png"],
        ),
        (
            "from PIL import Image\np = Image.new('RGB', (4, 4))\np.show()\n\
             p.putpixel((1, 1), (255, 0, 0))\np.show()",
            &["image-1.png", "image-2.png"],
        ),
    ] {
        let result = client.run(code);
        assert_eq!(result["status"], "completed", "{result}");
        let files = result["files"].as_array().unwrap();
        let mut left: Vec<&str> = files.iter().map(|file| file["path"].as_str().unwrap()).collect();
        left.sort_unstable();
        assert_eq!(left, names, "{code}");
    }
}

#[test]
fn bombs_are_refused_and_the_server_stays() {
    let client = TestServer::shared().client();
    let whole = format!("{BOMB}def main(args): Image.open(bomb(65500, 65500)).load()\n");
    let error = failed(&client.run(&whole)).0.to_owned();
    assert!(error.contains("MemoryError") || error.contains("MemoryLimit"), "{error}");
    // Small enough for Pillow's own memory, too large for the codec and the run.
    let large = format!("{BOMB}def main(args): Image.open(bomb(9000, 9000)).load()\n");
    let error = failed(&client.run(&large)).0.to_owned();
    assert!(["OSError", "MemoryError", "MemoryLimit"].iter().any(|k| error.contains(k)), "{error}");
    let raw = "import _host
def main(args):
    return [_host.call(b'\\x08' + f)[0] for f in (b'', b'\\xff' * 9, b'\\x02\\0\\0\\0{}',
            b'\\x14\\0\\0\\0{\"op\":\"webp.decode\"}', b'\\x14\\0\\0\\0{\"op\":\"jpeg.decode\"}')]
";
    assert_eq!(answer(&client.run(raw)), json!([1, 1, 1, 1, 1]));
    assert_eq!(answer(&client.run("def main(args): return 1")), 1);
}

#[test]
fn a_codec_takes_no_more_memory_than_the_run_has() {
    let code = "import io
from PIL import Image
def main(args):
    out = io.BytesIO(); Image.new('L', (4000, 3000)).save(out, 'JPEG')
    return len(out.getvalue()) > 0
";
    let client = TestServer::shared().client();
    assert_eq!(answer(&client.run(code)), true);
    let tight = client.run_with(code, json!({"limits": {"memory_bytes": 140 << 20}}));
    let error = failed(&tight).0.to_owned();
    assert!(error.contains("MemoryError") || error.contains("MemoryLimit"), "{error}");
}

/// A picture that takes some seconds to write and to read, in the guest's hands.
const LARGE: &str = "import io, json, random
import _host
def ask(header, data):
    text = json.dumps(header).encode()
    answer = _host.call(b'\\x08' + len(text).to_bytes(4, 'little') + text + data)
    if answer[0]:
        raise RuntimeError(answer[1:])
    return answer[5 + int.from_bytes(answer[1:5], 'little'):]
noise = random.Random(1).randbytes(3000 * 2000 * 3)
size = {'width': 3000, 'height': 2000, 'mode': 'RGB'}
jpeg = {'op': 'jpeg.encode', 'sampling': '4:4:4', 'tables': [[1] * 64] * 2, **size}
";

#[test]
fn a_loop_of_the_longest_requests_ends_at_the_deadline_and_keeps_the_worker() {
    let server = TestServer::start(&[]);
    let client = server.client();
    // Noise at a quality of 100 has more bytes than a lossy file may have here.
    let lossy = "webp = ask({'op': 'webp.encode', 'quality': 90, **size}, noise)
file = b'RIFF' + (len(webp) + 4).to_bytes(4, 'little') + b'WEBP' + webp
";
    for (made, request) in [
        ("", "ask(jpeg, noise)"),
        ("", "ask(jpeg | {'progressive': True}, noise)"),
        ("", "ask({'op': 'webp.encode', 'quality': 100, **size}, noise)"),
        ("file = ask(jpeg, noise)\n", "ask({'op': 'jpeg.decode', 'mode': 'RGB'}, file)"),
        (lossy, "ask({'op': 'webp.decode'}, file)"),
    ] {
        let code = format!("{LARGE}{made}def main(args):\n    while True: {request}\n");
        let result = client.run_with(&code, json!({"limits": {"timeout_ms": 8000}}));
        assert_eq!(failed(&result).0, "Timeout", "{request}: {result}");
        let took = result["duration_ms"].as_u64().unwrap();
        // A request cannot be stopped. One that takes longer than the grace, as on a machine that does
        // much else, costs the worker.
        let code = format!(
            "{LARGE}{made}import time\ndef main(args):\n    began = time.perf_counter()\n    \
             {request}\n    return time.perf_counter() - began\n"
        );
        let one = client.run_with(&code, json!({"limits": {"timeout_ms": 120_000}}));
        let one = answer(&one).as_f64().unwrap();
        let is_in_time = (7400..9000).contains(&took);
        assert!(is_in_time || one > 0.7, "{request}: {took} ms, one takes {one} s");
    }
    assert_eq!(answer(&client.run("def main(args): return 1")), 1);
}

#[test]
fn codecs_use_up_fuel_and_the_same_each_time() {
    let client = TestServer::shared().client();
    let call = |code: &str| {
        let limits = json!({"fuel": 2_000_000_000});
        client.call("run_code", json!({"language": "python", "code": code, "limits": limits}))
    };
    let code = |count: u32| {
        format!(
            "from _wardian.codecs import ask\ndef main(args):\n    for _ in range({count}): \
             ask({{'op': 'lz4.encode'}}, bytes(10_000_000))\n"
        )
    };
    // The code that counts is compiled on demand.
    let Ok(once) = call(&code(1)) else { return };
    let twice = call(&code(2)).unwrap();
    let [one, two] = [&once, &twice].map(|result| result["fuel"].as_u64().unwrap());
    assert!(two - one > 40_000_000, "{one} {two}");
    // Codecs cost the same each time. The interpreter reads clocks and random numbers before and
    // after them, and what it does with those varies by some hundred instructions.
    let again = call(&code(2)).unwrap()["fuel"].as_u64().unwrap();
    assert!(again.abs_diff(two) < 10_000, "{two} {again}");
    let ends = [(); 2].map(|()| call(&code(1_000)).unwrap());
    for end in &ends {
        assert_eq!((failed(end).0, &end["fuel"]), ("FuelExhausted", &json!(2_000_000_000)));
    }
}

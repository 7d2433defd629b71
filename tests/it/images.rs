//! Memory images: they are made when runs need them and never change a result.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::packages::{LayerGuard, Wheels, batteries, unique};
use crate::support::cache::own_cache;
use crate::support::{Client, Command, SkillFolder, TestServer, Watched, eventually, output};

const PICTURE: &str = "from PIL import Image
def main(args):
    picture = Image.new('RGB', (8, 8), 'red').resize((3, 2))
    return {'size': picture.size, 'pixel': picture.getpixel((1, 1))}
";

/// The parts of a result that must not depend on the image.
const SAME: [&str; 5] = [
    PICTURE,
    "import lxml.etree as tree
def main(args): return tree.tostring(tree.fromstring('<a b=\"1\"><c/></a>')).decode()
",
    "import PIL, bs4
def main(args): return [hash('a'), list({'one', 'two', 'three', 'four'}), bs4.__version__]
",
    "import PIL.Image
def main(args): return PIL.Image.open('missing.png')
",
    "import bs4, os, warnings, locale
def main(args): return [os.listdir('.'), os.getcwd(), len(warnings.filters), locale.getlocale()[1]]
",
];

fn comparable(client: &Client, code: &str) -> Value {
    let result = client.run(code);
    json!([result["status"], result["output"], result["error"], result["logs_preview"]])
}

#[test]
fn an_image_that_a_run_would_have_needed_is_made_for_later_ones() {
    let server = TestServer::start(&["--set", "log.level=debug"]);
    let client = server.client();
    let first = output(&client.run(PICTURE)).clone();
    assert_eq!(first, json!({"size": [3, 2], "pixel": [255, 0, 0]}));
    server.wait_for_log("the image `pillow` is ready");
    for _ in 0..3 {
        assert_eq!(*output(&client.run(PICTURE)), first);
    }
    let begun = server.wait_for_log("started from the image `pillow`");
    assert!(begun.contains("run_"), "{begun}");
    drop(server);

    let images = Command::new().run(&["engine", "images", "--json"]).with(0).json();
    let images = images.as_array().unwrap();
    let pillow: Vec<&Value> = images.iter().filter(|image| image["name"] == "pillow").collect();
    let hits: u64 = pillow.iter().map(|image| image["hits"].as_u64().unwrap()).sum();
    assert!(hits > 0, "{images:?}");
}

#[test]
fn the_image_decides_nothing_but_the_time() {
    let plain = TestServer::start(&["--set", "images.on_need=false"]);
    let rich = TestServer::start(&["--set", "images.profiles=lxml+pillow"]);
    rich.wait_for_log("the image `lxml+pillow` is ready");
    for code in SAME {
        let expected = comparable(&plain.client(), code);
        assert_eq!(comparable(&rich.client(), code), expected, "{code}");
    }
}

/// Packages of images that look for a battery while they are imported, and what comes of it.
const LOOK_UPS: [&str; 5] = [
    "import pandas as pd, pytz, datetime
zone = pytz.timezone('America/Caracas')
def main(args):
    stamp = pd.Timestamp(zone.localize(datetime.datetime(2023, 7, 1, 12)))
    days = pd.concat([pd.Series(pd.date_range('2024', periods=2, tz=tz)) for tz in (pytz.UTC, 'UTC')])
    return [stamp.isoformat(), pd.Timestamp('2023-07-01 12:00', tz=zone).isoformat(), str(days.dtype)]
",
    "import tabulate
def main(args): return [tabulate.wcwidth is not None, tabulate.tabulate([['日本', 1], ['x', 2]])]
",
    "import bs4.dammit, chardet
def main(args):
    text = '吾輩は猫である。名前はまだ無い。'.encode('shift_jis')
    return [bs4.dammit.chardet_module.__name__, bs4.BeautifulSoup(text, 'lxml').original_encoding]
",
    "import bs4
def main(args):
    return bs4.BeautifulSoup('名前はまだ無い。どこで生れたか'.encode('euc_jp'), 'lxml').original_encoding
",
    "import sklearn.callback._progressbar as bar
def main(args):
    bar.check_rich_support('main')
    return [hasattr(bar, '_Progress'), bar._Progress.__mro__[1].__module__]
",
];

/// The look-ups that failed while an image was built, and of these the ones that a run has.
const MISSED: &str = "import importlib.util, bs4, sklearn, statsmodels, sympy
from _wardian import late
def main(args):
    there = {n: sorted(late.missed[n]) for n in late.missed if importlib.util.find_spec(n) is not None}
    return {'count': len(late.missed), 'there': {n: there[n] for n in there if n not in late.REPAIRED}}
";

#[test]
fn a_battery_is_found_whether_its_user_comes_from_an_image_or_not() {
    let plain = TestServer::start(&["--set", "images.on_need=false"]);
    let all =
        "documents+http+lxml+matplotlib+networkx+pillow+scipy+sklearn+statsmodels+sympy+pydantic";
    let rich = TestServer::start(&["--set", &format!("images.profiles={all}")]);
    rich.wait_for_log(" is ready");
    for code in LOOK_UPS {
        let expected = comparable(&plain.client(), code);
        assert_eq!(expected[0], "completed", "{expected}");
        assert_eq!(comparable(&rich.client(), code), expected, "{code}");
    }
    let stamps = plain.client().run(LOOK_UPS[0]);
    assert_eq!(output(&stamps)["result"][0], "2023-07-01T12:00:00-04:00");
    let missed = rich.client().run(MISSED);
    let missed = output(&missed);
    assert!(missed["count"].as_u64().unwrap() > 10, "{missed}");
    assert_eq!(missed["there"], json!({}), "add what repairs it to `_wardian/late.py`");
}

/// Programs that import pydantic. What they answer must not depend on the image.
const MODELS: [&str; 9] = [
    "from pydantic import BaseModel, Field, ValidationError
class Item(BaseModel):
    name: str = Field(min_length=1)
    parts: list['Item'] = []
def main(args):
    item = Item.model_validate({'name': 'a', 'parts': [{'name': 'b'}]})
    try: Item(name='', parts=3)
    except ValidationError as error: wrong = error.errors(include_url=False, include_input=False)
    return [item.model_dump(), Item.model_json_schema(), [str(one['loc']) for one in wrong], Item.__module__]
",
    "import pydantic, pydantic_core, annotated_types, typing_inspection
def main(args):
    files = [one.__file__ for one in (pydantic, pydantic_core, annotated_types, typing_inspection)]
    return [files, pydantic.VERSION, pydantic_core.__version__, pydantic.version.version_info().count('plugin')]
",
    "import sys, pydantic.dataclasses
def main(args):
    first = pydantic.BaseModel
    for name in [name for name in sys.modules if name.split('.')[0] == 'pydantic']: del sys.modules[name]
    import pydantic as again
    class M(again.BaseModel): x: int
    return [first is again.BaseModel, M(x='1').x]
",
    "import pydantic, json, subprocess, sys
def main(args):
    code = 'import pydantic; print(pydantic.TypeAdapter(list[int]).validate_json(b\"[1, 2]\"))'
    return subprocess.run([sys.executable, '-c', code], capture_output=True, text=True).stdout
",
    "import pydantic
class M(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra='forbid')
    x: int
def main(args): return M(x=1, y=2)
",
    "import pydantic, gc, warnings
class Loop(pydantic.BaseModel):
    other: 'Loop | None' = None
def main(args):
    for _ in range(50): Loop(other=Loop())
    return [len(warnings.filters), gc.collect() >= 0, pydantic.create_model('N', x=(int, 1))().x]
",
    "import jsonschema, orjson, referencing, rpds
schema = {'properties': {'at': {'format': 'idn-hostname'}, 'n': {'$ref': '#/$defs/n'}}, '$defs': {'n': {'minimum': 3}}}
def main(args):
    checker = jsonschema.FormatChecker()
    checked = jsonschema.Draft202012Validator(schema, format_checker=checker)
    wrong = sorted(error.message for error in checked.iter_errors({'at': 'a' * 64, 'n': 1}))
    files = [one.__file__ for one in (jsonschema, orjson, referencing, rpds)]
    return [wrong, sorted(checker.checkers), files, orjson.dumps({'a': [1.5]}).decode(), dict(rpds.HashTrieMap(x=1))]
",
    "import jsonschema
def main(args): jsonschema.validate({'n': [1, 'x']}, {'properties': {'n': {'items': {'type': 'integer'}}}})
",
    "import sys, jsonschema.validators
def main(args):
    first = jsonschema.Draft7Validator
    for name in [name for name in sys.modules if name.split('.')[0] in ('jsonschema', 'referencing')]: del sys.modules[name]
    import jsonschema as again
    return [first is again.Draft7Validator, again.Draft7Validator({'type': 'string'}).is_valid(1)]
",
];

/// The top-level modules of batteries that an image has.
const OF_BATTERIES: &str = "import pydantic, sys
from _wardian import child_modules
def main(args):
    names = {name.split('.')[0] for name, module in child_modules._known.items()
             if str(getattr(module, '__file__', '')).startswith('/usr/local/lib/batteries/')}
    return sorted(names)
";

#[test]
fn an_image_of_batteries_decides_nothing_but_the_time() {
    batteries();
    let plain = TestServer::start(&["--set", "images.on_need=false"]);
    let rich = ["--set", "images.profiles=pydantic", "--set", "log.level=debug"];
    let rich = TestServer::start(&rich);
    rich.wait_for_log("the image `pydantic` is ready");
    for code in MODELS {
        let expected = comparable(&plain.client(), code);
        assert_ne!(expected[0], Value::Null, "{expected}");
        assert_eq!(comparable(&rich.client(), code), expected, "{code}");
    }
    rich.wait_for_log("started from the image `pydantic`");
    let found = rich.client().run(OF_BATTERIES);
    let expected = [
        "annotated_types",
        "idna",
        "jsonpointer",
        "jsonschema",
        "jsonschema_specifications",
        "orjson",
        "pydantic",
        "pydantic_core",
        "referencing",
        "rpds",
        "typing_inspection",
    ];
    assert_eq!(output(&found)["result"], json!(expected), "add them to `PACKAGES_OF_PYDANTIC`");
    let session = rich.client().run_with(
        "import pydantic\nclass M(pydantic.BaseModel):\n    x: int",
        json!({"session": "new"}),
    );
    output(&session);
    let id = session["session"]["id"].as_str().unwrap().to_owned();
    let next = rich.client().run_with("M(x='3').x", json!({"session": id}));
    assert_eq!(output(&next)["result"], 3);
    rich.client().delete(&format!("/v1/sessions/{id}"));
}

#[test]
fn a_skill_that_locks_a_package_of_an_image_gets_its_own() {
    batteries();
    let (command, wheels, skills) = (Command::new(), Wheels::new(), SkillFolder::new());
    let mark = unique();
    wheels.add("annotated_types", "99.0", &[], &[("annotated_types/__init__.py", &mark)]);
    wheels.add("tiny_models", "1.0", &["pydantic>=2.10"], &[("tiny_models.py", &mark)]);
    let own = "import annotated_types, sys\ndef unused():\n    import pydantic\ndef main(args):\n    \
               return [annotated_types.MARK, 'pydantic' in sys.modules]\n";
    let models = "import tiny_models, pydantic\ndef main(args):\n    return pydantic.__file__\n";
    skills.action("acme.own", "1.0.0", own).action("acme.models", "1.0.0", models);
    skills.file("acme.own/code/requirements.txt", "annotated-types>=99\n");
    skills.file("acme.models/code/requirements.txt", "tiny-models\npydantic\n");
    let lock = |skill: &str| {
        let folder = skills.at(skill);
        let lock = ["skills", "deps", "lock", folder.to_str().unwrap(), "--from", wheels.path()];
        let locked = command.run(&[&lock[..], &["--json"]].concat()).with(0).json();
        (LayerGuard::of(&command, &locked), locked)
    };
    let (_own, (_above, locked)) = (lock("acme.own"), lock("acme.models"));
    assert_eq!(locked["batteries"][0]["name"], "pydantic", "{locked:#}");
    assert_eq!(locked["packages"].as_array().unwrap().len(), 1, "{locked:#}");
    let server = ["--skills", skills.path(), "--set", "images.profiles=pydantic"];
    let server = TestServer::start(&[&server[..], &["--set", "log.level=debug"]].concat());
    server.wait_for_log("the image `pydantic` is ready");
    let client = server.client();
    let own = output(&client.execute("acme.own", json!({})))["result"].clone();
    assert!(mark.contains(own[0].as_str().unwrap()) && own[1] == false, "{own}");
    let above = client.execute("acme.models", json!({}));
    let file = "/usr/local/lib/batteries/pydantic/__init__.py";
    assert_eq!(output(&above)["result"], file, "{above:#}");
    let begun = above["run_id"].as_str().unwrap();
    server.wait_for_log(&format!("run `{begun}` started from the image `pydantic`"));
}

#[test]
fn a_skill_can_ask_for_an_image() {
    let skills = SkillFolder::new();
    let source =
        "import importlib\ndef main(args):\n    return importlib.import_module('PIL').__name__\n";
    skills.action("acme.plain", "1.0.0", source).action("acme.eager", "1.0.0", source);
    let manifest = fs::read_to_string(skills.at("acme.eager/skill.toml")).unwrap();
    skills.file("acme.eager/skill.toml", manifest + "preload = [\"PIL.Image\"]\n");
    let server = TestServer::start(&[
        "--skills",
        skills.path(),
        "--set",
        "images.profiles=pillow",
        "--set",
        "log.level=debug",
    ]);
    server.wait_for_log("the image `pillow` is ready");
    let client = server.client();
    for (name, image) in [("acme.plain", "base"), ("acme.eager", "pillow")] {
        let result = client.execute(name, json!({}));
        assert_eq!(output(&result)["result"], "PIL");
        let begun = format!(
            "run `{}` started from the image `{image}`",
            result["run_id"].as_str().unwrap()
        );
        server.wait_for_log(&begun);
    }
}

#[test]
fn every_reset_can_be_verified() {
    let server = TestServer::start(&["--paranoid"]);
    let client = server.client();
    for round in 0..5 {
        let code =
            "import pandas as pd\ndef main(args):\n    return int(pd.Series(range(100)).sum())\n";
        assert_eq!(output(&client.run(code))["result"], 4950, "round {round}");
        client.run_with("while True: pass", json!({"timeout_ms": 100}));
    }
    assert!(!server.log().contains("lost worker"), "{}", server.log());
    let sandbox = client.get("/version").json()["sandbox"].clone();
    let reset = sandbox["reset"].as_str().unwrap();
    assert!(["pagemap-scan", "pagemap-read", "remap"].contains(&reset), "{sandbox}");
}

#[test]
fn an_image_that_cannot_be_is_refused_before_anything_starts() {
    let ended = Command::new().run(&["serve", "--set", "images.profiles=numpi"]).with(2);
    for expected in ["images.profiles", "matplotlib+sklearn"] {
        assert!(ended.stderr.contains(expected), "{}", ended.stderr);
    }
}

/// A cache with the user's engine and no images, which costs no space.
pub(crate) fn cache_without_images() -> tempfile::TempDir {
    let users = own_cache();
    let cache = tempfile::tempdir_in(dirs::cache_dir().unwrap()).unwrap();
    for area in ["engine", "native"] {
        for key in fs::read_dir(users.join(area)).unwrap() {
            let key = key.unwrap();
            link_files(&key.path(), &cache.path().join(area).join(key.file_name()));
        }
    }
    // Without the batteries, programs search fewer folders and use less fuel.
    link_files(&users.join("layers"), &cache.path().join("layers"));
    cache
}

pub(crate) fn link_files(source: &Path, target: &Path) {
    fs::create_dir_all(target).unwrap();
    for file in fs::read_dir(source).unwrap() {
        let file = file.unwrap();
        match fs::hard_link(file.path(), target.join(file.file_name())) {
            // Somebody finishes a draft at this moment; it is not for this test.
            Err(gone) if gone.kind() == std::io::ErrorKind::NotFound => {}
            linked => linked.unwrap(),
        }
    }
}

/// The names of the images that a cache holds.
fn images_in(cache: &Path) -> Vec<String> {
    let list = ["--cache-dir", cache.to_str().unwrap(), "engine", "images", "--json"];
    let images = Command::new().run(&list).with(0).json();
    let names = images.as_array().unwrap().iter().map(|image| image["name"].as_str().unwrap());
    names.map(str::to_owned).collect()
}

/// The number of open files of a process with this name. The process must be a child of the test.
fn opened(process: u32, name: &str) -> usize {
    let links = fs::read_dir(format!("/proc/{process}/fd")).unwrap();
    let targets = links.filter_map(|link| fs::read_link(link.unwrap().path()).ok());
    targets.filter(|target| target.to_string_lossy().contains(name)).count()
}

/// For everything that a busy machine does in the background, at the lowest priority.
const PATIENCE: Duration = Duration::from_secs(900);

/// A program that shows its hash of a text, and computes with a package that is in the image.
const HASHES: &str = "import pandas as pd
def main(args):
    return [hash('a text'), int(pd.Series(range(100)).sum())]
";

/// The hash that a run sees; with fuel, if there is any to be counted.
fn hash_of(client: &Client, fuel: Option<u64>) -> i64 {
    let limits = fuel.map_or(json!({}), |fuel| json!({"limits": {"fuel": fuel}}));
    let result = client.run_with(HASHES, limits);
    let seen = &output(&result)["result"];
    assert_eq!(seen[1], 4950);
    seen[0].as_i64().unwrap()
}

/// Waits until nothing holds images that no run begins as any more. Renewals go on meanwhile: what
/// is on its way may be there as well. `grown` runs something and says how many more addresses a
/// worker takes than at first.
fn ensure_old_images_go(server: &TestServer, cache: &Path, grown: impl Fn() -> u64) {
    let mut seen = (0, 0, 0);
    let are_gone = (0..500).any(|_| {
        let shelves = fs::read_dir(cache.join("images")).unwrap().flatten();
        let is_image = |shelf: &fs::DirEntry| fs::metadata(shelf.path().join("memory.img")).is_ok();
        let on_disk = shelves.filter(is_image).count();
        seen = (grown() >> 30, opened(server.process().id, "memfd:wardian-image"), on_disk);
        thread::park_timeout(Duration::from_millis(20));
        // Each image takes more than 4 GiB of addresses; one more may be there until the next run.
        seen.0 < 11 && seen.1 <= 2 && seen.2 <= 2
    });
    assert!(are_gone, "GiB of addresses, images of the server, images on disk: {seen:?}");
}

#[test]
fn server_that_is_stopped_or_killed_takes_the_process_that_makes_images_along() {
    for end in [Watched::terminate, Watched::kill] {
        let cache = cache_without_images();
        let cache_dir = cache.path().to_str().unwrap();
        let server = TestServer::start(&["--cache-dir", cache_dir, "--workers", "1"]);
        server.client().run(PICTURE);
        let maker = eventually(PATIENCE, || {
            server.workers().into_iter().find(|child| {
                let command = fs::read_to_string(format!("/proc/{}/cmdline", child.id));
                command.is_ok_and(|command| command.contains("--image"))
            })
        });
        end(server.process());
        // A process of the lowest priority takes its time to end on a busy machine.
        assert!(maker.ends_within(Duration::from_secs(60)), "an installation never ends");
        server.wait();
        let image = images_in(cache.path()).into_iter().find(|image| image.contains("pillow"));
        assert_eq!(image, None, "an installation went on without its server");
    }
}

#[test]
fn installation_whose_parent_has_ended_does_nothing() {
    let cache = cache_without_images();
    let gone = i32::MAX.to_string();
    let folder = cache.path().to_str().unwrap();
    let install = ["--cache-dir", folder, "engine", "install", "--image", "pillow"];
    let ended = Command::new().run(&[install.as_slice(), &["--end-with-parent", &gone]].concat());
    let message = ended.with(3).stderr;
    assert!(message.contains("the process that started this installation"), "{message}");
    assert_eq!(images_in(cache.path()), [""; 0]);
}

#[test]
fn hash_secret_that_is_renewed_reaches_every_kind_of_run_and_costs_none() {
    const RENEWALS: usize = 4;
    let cache = cache_without_images();
    let server = TestServer::start(&[
        "--cache-dir",
        cache.path().to_str().unwrap(),
        "--workers",
        "2",
        "--set",
        "workers.spares=0",
        "--set",
        "images.max_age=1 s",
        "--set",
        "images.disk=1 MiB",
    ]);
    let client = server.client();
    // The code that counts fuel may have to be compiled first.
    let can_meter = eventually(PATIENCE, || {
        let params =
            json!({"language": "python", "code": HASHES, "limits": {"fuel": 10_000_000_000_u64}});
        client.call("run_code", params).is_ok().then_some(true)
    });
    assert!(can_meter);
    // Among the children of the server is the process that makes images.
    let log = server.log();
    let ready =
        log.lines().filter_map(|line| line.split_once(" is ready ")?.1.split_once("process="));
    let workers: Vec<Watched> =
        ready.map(|(_, id)| Watched::of(id.trim().parse().unwrap()).unwrap()).collect();
    assert_eq!(workers.len(), 2, "{log}");
    let addresses = || workers.iter().map(|worker| worker.memory("VmSize")).max().unwrap();
    let mut seen = vec![hash_of(&client, None)];
    let before = addresses();
    let deadline = Instant::now() + PATIENCE;
    while seen.len() <= RENEWALS {
        // A run that has begun as the old image may end after runs that began as newer ones.
        let may_end = seen.len().saturating_sub(2);
        assert!(Instant::now() < deadline, "only {} renewals: {}", seen.len() - 1, server.log());
        // Both workers, both kinds of code, while images are made and swapped.
        let hashes = thread::scope(|scope| {
            let fuel = [None, Some(10_000_000_000), None, Some(10_000_000_000)];
            let client = &client;
            let runs = fuel.map(|fuel| scope.spawn(move || hash_of(client, fuel)));
            runs.map(|run| run.join().unwrap())
        });
        for hash in hashes {
            if !seen[may_end..].contains(&hash) {
                assert!(!seen.contains(&hash), "an old secret came back");
                seen.push(hash);
            }
        }
        // Images are made at the lowest priority.
        thread::park_timeout(Duration::from_millis(100));
    }
    for trouble in ["lost worker", "has ended"] {
        assert!(!server.log().contains(trouble), "{}", server.log());
    }
    ensure_old_images_go(&server, cache.path(), || {
        hash_of(&client, None);
        addresses().saturating_sub(before)
    });
}

#[test]
fn one_process_makes_several_images() {
    let place = Command::new();
    // The engine is there once something has run.
    place.run(&["run", "-c", "print(1)"]).with(0);
    let cache = cache_without_images();
    let folder = cache.path().to_str().unwrap();
    let install = ["--cache-dir", folder, "engine", "install", "--image", "lxml"];
    place.run(&[install.as_slice(), &["--image", "networkx"]].concat()).with(0);
    let listed = place.run(&["--cache-dir", folder, "engine", "images"]).with(0);
    for name in ["base", "lxml", "networkx"] {
        assert!(listed.stdout.contains(name), "{}", listed.stdout);
    }
}

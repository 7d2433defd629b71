//! Images of tenants: whose hash secret a run has.

use std::time::Duration;

use serde_json::{Value, json};

use crate::images::cache_without_images;
use crate::support::{Client, Command, TestServer, eventually, output};

const PATIENCE: Duration = Duration::from_secs(300);

/// Hashes of texts, which follow from the secret. Most of them fit no float.
const PROBE: &str =
    "def main(args):\n    return [str(hash(text)) for text in ('a', 'acme', 'é' * 100)]\n";

/// The same, after an import for which there can be an image.
const WITH_PILLOW: &str = "from PIL import Image\n\ndef main(args):\n    \
    return [str(hash(text)) for text in ('a', 'acme', 'é' * 100)]\n";

fn start(place: &Command, more: &[&str]) -> TestServer {
    let usual = ["--set", "auth.mode=keys", "--set", "workers.require_lockdown=false"];
    TestServer::start_on(&place.folder().join("data"), &[&usual[..], more].concat())
}

fn key(place: &Command, server: &TestServer, tenant: &str) -> String {
    let data = server.data_dir().to_str().unwrap();
    let create = ["--data-dir", data, "keys", "create", "--tenant", tenant, "--name", "ci"];
    let key = place.run(&create).with(0).stdout.trim_end().to_owned();
    let client = server.client().with_key(&key);
    eventually(PATIENCE, || (client.get("/v1/blobs").status != 401).then_some(()));
    key
}

fn hashes(client: &Client, code: &str) -> Value {
    output(&client.run(code))["result"].clone()
}

#[test]
fn hash_secret_of_a_tenant_with_own_images_is_shared_with_nobody() {
    let (place, cache) = (Command::new(), cache_without_images());
    let kept = ["--cache-dir", cache.path().to_str().unwrap(), "--set", "images.max_age=0"];
    let with = |more: &[&'static str]| [&kept[..], more].concat();
    let settings = ["--set", "images.tenants=acme,beta", "--set", "images.profiles=pillow"];
    let server = start(&place, &with(&settings));
    let keys = ["acme", "beta", "gamma", "delta"].map(|tenant| key(&place, &server, tenant));
    let [acme, beta, gamma, delta] = keys.each_ref().map(|key| server.client().with_key(key));
    // The image of all tenants with Pillow is there, and those with own images do not begin as it.
    eventually(PATIENCE, || {
        let version = acme.get("/version").json();
        version["sandbox"]["images"].as_str()?.contains("pillow").then_some(())
    });
    let of_all = hashes(&gamma, PROBE);
    let (of_acme, of_beta) = (hashes(&acme, PROBE), hashes(&beta, PROBE));
    assert_eq!(hashes(&delta, PROBE), of_all, "tenants without own images share one secret");
    assert!(of_acme != of_all && of_beta != of_all && of_acme != of_beta);
    for code in [PROBE, WITH_PILLOW] {
        let found = [&acme, &beta, &gamma].map(|client| hashes(client, code));
        assert_eq!(found, [of_acme.clone(), of_beta.clone(), of_all.clone()]);
    }
    // The secret stays when workers are replaced.
    for worker in server.workers() {
        worker.kill();
    }
    eventually(PATIENCE, || {
        acme.call("run_code", json!({"language": "python", "code": PROBE})).ok()
    });
    assert_eq!((hashes(&acme, PROBE), hashes(&gamma, PROBE)), (of_acme.clone(), of_all.clone()));
    // Reproducible runs have one secret, which everybody knows.
    let repeated = |client: &Client| {
        let result = client.run_with(PROBE, json!({"reproducible": true}));
        output(&result)["result"].clone()
    };
    let known = repeated(&acme);
    assert_eq!((repeated(&beta), repeated(&gamma)), (known.clone(), known.clone()));
    assert!(![of_acme.clone(), of_beta, of_all.clone()].contains(&known));
    // It stays when the server starts again, and without the setting all share one.
    drop(server);
    let server = start(&place, &with(&["--set", "images.tenants=acme"]));
    let [acme, beta, ..] = keys.each_ref().map(|key| server.client().with_key(key));
    eventually(PATIENCE, || (acme.get("/v1/blobs").status != 401).then_some(()));
    assert_eq!((hashes(&acme, PROBE), hashes(&beta, PROBE)), (of_acme, of_all.clone()));
    drop(server);
    let server = start(&place, &with(&[]));
    let [acme, beta, ..] = keys.each_ref().map(|key| server.client().with_key(key));
    eventually(PATIENCE, || (acme.get("/v1/blobs").status != 401).then_some(()));
    assert_eq!((hashes(&acme, PROBE), hashes(&beta, PROBE)), (of_all.clone(), of_all));
}

#[test]
fn hash_secret_of_a_tenant_is_renewed_with_the_shared_one() {
    let (place, cache) = (Command::new(), cache_without_images());
    let cache = cache.path().to_str().unwrap();
    // The disk has room for no shared image: those of tenants stay nevertheless.
    let settings = ["images.tenants=acme", "images.max_age=1 s", "images.disk=1 MiB"];
    let settings = settings.iter().flat_map(|setting| ["--set", setting]);
    let server =
        start(&place, &["--cache-dir", cache].into_iter().chain(settings).collect::<Vec<_>>());
    let [acme, gamma] = ["acme", "gamma"].map(|tenant| {
        let key = key(&place, &server, tenant);
        server.client().with_key(&key)
    });
    let (mut own, mut shared) = (vec![hashes(&acme, PROBE)], vec![hashes(&gamma, PROBE)]);
    eventually(PATIENCE, || {
        for (seen, client) in [(&mut own, &acme), (&mut shared, &gamma)] {
            let found = hashes(client, PROBE);
            if !seen.contains(&found) {
                seen.push(found);
            }
        }
        (own.len() > 1 && shared.len() > 1).then_some(())
    });
    assert!(!own.iter().any(|one| shared.contains(one)), "{own:?} {shared:?}");
}

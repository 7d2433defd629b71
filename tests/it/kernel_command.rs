//! `wardian kernel`: the kernel of the Python client, as Jupyter finds it.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use crate::support::Command;

/// A program that answers like a Python with these packages.
fn python(place: &Command, has_package: bool) -> String {
    let data = place.folder().join("jupyter");
    let answers = json!({
        "executable": "/opt/venv/bin/python",
        "version": [3, 12],
        "has_package": has_package,
        "has_ipykernel": true,
        "jupyter_data": data,
    });
    let file = place.file("python", format!("#!/bin/sh\ncat <<'END'\n{answers}\nEND\n"));
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    file.to_str().unwrap().to_owned()
}

#[test]
fn a_kernel_is_installed_for_the_user_or_below_a_folder() {
    let place = Command::new();
    let python = python(&place, true);
    let install = ["kernel", "install", "--python", &python, "--url", "http://127.0.0.1:9"];
    let said = place.run(&install).with(0).stdout;
    let folder = place.folder().join("jupyter/kernels/wardian");
    assert_eq!(said, format!("installed the kernel `wardian` in {}\n", folder.display()));
    let spec: Value =
        serde_json::from_slice(&fs::read(folder.join("kernel.json")).unwrap()).unwrap();
    let words = spec["argv"].as_array().unwrap();
    assert_eq!(words[..3], ["/opt/venv/bin/python", "-m", "wardian.jupyter"].map(Value::from));
    assert!(words.contains(&json!("--WardianKernel.url=http://127.0.0.1:9")), "{spec}");

    let below = ["kernel", "install", "--python", "./python", "--prefix", "venv", "--name", "far"];
    let installed = place.run(&[&below[..], &["--json"]].concat()).with(0).json();
    let folder = place.folder().join("venv/share/jupyter/kernels/far");
    assert_eq!((&installed["name"], &installed["url"]), (&json!("far"), &Value::Null));
    assert!(folder.join("kernel.json").is_file(), "{installed}");
}

#[test]
fn a_python_without_the_package_is_refused_with_the_remedy() {
    let place = Command::new();
    let python = python(&place, false);
    let refused = place.run(&["kernel", "install", "--python", &python]).with(2).stderr;
    assert!(refused.contains("-m pip install 'wardian[jupyter]'"), "{refused}");
    let refused = place.run(&["kernel", "install", "--python", "/none/python"]).with(2).stderr;
    assert!(refused.contains("`/none/python` cannot be run"), "{refused}");
    let refused = place.run(&["kernel", "install", "--python", "/bin/true"]).with(2).stderr;
    assert!(refused.contains("not a Python that can be used"), "{refused}");
    assert!(!place.folder().join("jupyter").try_exists().unwrap(), "nothing is written");
}

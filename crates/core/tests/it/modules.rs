//! Who uses whom, by `tests/module-graph`.

use std::path::Path;
use std::process::Command;

fn module_graph(args: &[&str]) -> (bool, String) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let ran = Command::new("python3").arg(root.join("tests/module-graph")).args(args).output().unwrap();
    let said = [ran.stdout, ran.stderr].concat();
    (ran.status.success(), String::from_utf8(said).unwrap())
}

#[test]
fn modules_have_no_new_cycles_and_keep_to_their_layers() {
    let (is_well, said) = module_graph(&[]);
    assert!(is_well, "{said}");
}

#[test]
fn the_picture_is_that_of_the_code() {
    let (_, picture) = module_graph(&["--picture"]);
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/ARCHITECTURE.md");
    let page = std::fs::read_to_string(page).unwrap();
    assert!(
        page.contains(picture.trim()),
        "put this into docs/ARCHITECTURE.md by `tests/module-graph --write`:\n{picture}"
    );
}

//! What no compiler checks: who may import whom, and the order of the house.
//!
//! Each rule is a pure function from text to complaints, or a table; each test hands all complaints
//! to [`check`] at once, and each complaint names the file. [`the_rules_can_be_broken`] shows that none
//! of them is always content. Left out: what clippy and rustfmt say.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// Which of our crates each of our crates may import, as the code map of `ARCHITECTURE.md` says.
/// Only normal dependencies count: tests may reach further.
const IMPORTS: [(&str, Imports); 12] = [
    ("peerage-proto", Imports::Only(&[])),
    ("peerage-partition", Imports::Only(&[])),
    ("peerage-cluster", Imports::Only(&[])),
    ("peerage-access", Imports::Only(&[])),
    ("peerage-clickhouse", Imports::Only(&[])),
    ("peerage-catalog", Imports::Only(&["peerage-partition"])),
    (
        "peerage-engine",
        Imports::Only(&["peerage-clickhouse", "peerage-partition", "peerage-proto"]),
    ),
    (
        "peerage-peer",
        Imports::Only(&["peerage-cluster", "peerage-engine", "peerage-partition", "peerage-proto"]),
    ),
    (
        "peerage-head",
        Imports::Only(&[
            "peerage-access",
            "peerage-catalog",
            "peerage-clickhouse",
            "peerage-cluster",
            "peerage-engine",
            "peerage-partition",
            "peerage-proto",
        ]),
    ),
    ("peerage-testdata", Imports::Only(&["peerage-catalog", "peerage-partition"])),
    ("peerage", Imports::All),
    ("peerage-bench", Imports::All),
];

/// Crates whose types cross the borders between ours: a second version would be a second type.
const ONE_VERSION: [&str; 6] = ["arrow", "datafusion", "object_store", "parquet", "prost", "tonic"];

/// Most bytes of a file outside `testdata/`: a repository is cloned by everybody.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// Most lines of `ARCHITECTURE.md`: it is to be read in one sitting.
const ARCHITECTURE_LINES_MAX: usize = 400;

/// Folders that are made by tools, wherever they are.
const MADE_BY_TOOLS: [&str; 3] = ["target", ".git", "node_modules"];

#[derive(Clone, Copy, Debug)]
enum Imports {
    All,
    Only(&'static [&'static str]),
}

/// Fails with all complaints about a rule.
fn check(rule: &str, complaints: &[String]) {
    assert!(complaints.is_empty(), "rule broken: {rule}\n  {}", complaints.join("\n  "));
}

#[test]
fn crates_import_only_what_the_table_allows() {
    let mut complaints = Vec::new();
    for member in members() {
        let manifest = relative(Path::new(text_of(&member, "manifest_path")));
        let found = forbidden_imports(text_of(&member, "name"), &imports(&member));
        complaints.extend(found.into_iter().map(|what| format!("{manifest}: {what}")));
    }
    check("imports follow the table in cli/tests/it/tidy.rs", &complaints);
}

#[test]
fn crates_take_the_lints_of_the_workspace() {
    let manifests =
        members().into_iter().map(|member| text_of(&member, "manifest_path").to_owned());
    let bare = manifests.map(PathBuf::from).filter(|path| !takes_workspace_lints(&read(path)));
    let complaints: Vec<_> = bare.map(|path| relative(&path)).collect();
    check("every member has `[lints] workspace = true`", &complaints);
}

#[test]
fn sources_say_what_they_are() {
    let sources = files(&root()).into_iter().filter(|path| has_extension(path, "rs"));
    let silent = sources.filter(|path| !read(path).starts_with("//!"));
    let complaints: Vec<_> = silent.map(|path| relative(&path)).collect();
    check("every .rs file opens with `//!`", &complaints);
}

#[test]
fn links_in_documents_lead_somewhere() {
    let mut complaints = Vec::new();
    for document in files(&root()).into_iter().filter(|path| has_extension(path, "md")) {
        let folder = document.parent().expect("a file is in a folder");
        let dead = links(&read(&document)).into_iter().filter(|link| !folder.join(link).exists());
        complaints.extend(dead.map(|link| format!("{}: {link}", relative(&document))));
    }
    check("links to files of the repository exist", &complaints);
}

#[test]
fn the_architecture_stays_short() {
    let lines = read(&root().join("ARCHITECTURE.md")).lines().count();
    let complaint = (lines >= ARCHITECTURE_LINES_MAX).then(|| format!("{lines} lines"));
    check("ARCHITECTURE.md has fewer than 400 lines", &Vec::from_iter(complaint));
}

#[test]
fn shared_types_have_one_version() {
    let complaints = other_than_one_version(&read(&root().join("Cargo.lock")));
    check("Cargo.lock has one version of each crate whose types we share", &complaints);
}

#[test]
fn tracked_files_know_no_machine_and_are_small() {
    // A source archive has no git, and nothing of it is anybody's working copy.
    let Some(tracked) = tracked_files() else { return };
    let homes = homes();
    let (mut local, mut large) = (Vec::new(), Vec::new());
    for path in tracked.iter().filter(|path| path.is_file()) {
        let name = relative(path);
        let bytes = path.metadata().map_or(0, |metadata| metadata.len());
        if bytes > FILE_BYTES_MAX && !name.starts_with("testdata/") {
            large.push(format!("{name}: {bytes} bytes"));
        }
        // What is no text is data of others.
        let text = std::fs::read_to_string(path).unwrap_or_default();
        local.extend(local_paths(&text, &homes).into_iter().map(|path| format!("{name}: {path}")));
    }
    check("no tracked file has a path of somebody's machine", &local);
    check("no tracked file outside testdata/ is larger than 1 MiB", &large);
}

#[test]
fn the_rules_can_be_broken() {
    fn breaks(complaints: &[String], expected: &[&str]) {
        assert_eq!(complaints, expected);
    }
    let owned = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
    breaks(&forbidden_imports("peerage-peer", &owned(&["peerage-engine"])), &[]);
    breaks(
        &forbidden_imports("peerage-peer", &owned(&["peerage-head", "peerage-engine"])),
        &["peerage-peer must not import peerage-head"],
    );
    breaks(&forbidden_imports("peerage-new", &[]), &["peerage-new is not in the table of imports"]);

    assert!(takes_workspace_lints("[package]\nname = \"a\"\n\n[lints]\nworkspace = true\n"));
    assert!(!takes_workspace_lints("[lints]\n\n[dependencies]\nworkspace = true\n"));
    assert!(!takes_workspace_lints("[lints.rust]\nworkspace = true\n"));

    let text = "[a](b.md) `[c](d.md)` [e](f%20g.md#h \"title\") [i](https://j.k) [l](#m)\n\
                ```\n[n](o.md)\n```\n    [code](p.md)\n![q](<r s.png>)\n[t]: u.md\n";
    breaks(&links(text), &["b.md", "f g.md", "r s.png", "u.md"]);

    let lock = |versions: &[&str]| {
        let all = ONE_VERSION.iter().skip(1).map(|name| (*name, "1.0.0"));
        let entries = versions.iter().map(|version| ("arrow", *version)).chain(all);
        let entry = |(name, version)| {
            format!(
                "[[package]]\nname = \"{name}\"\nversion = \"{version}\"\ndependencies = [\n \"arrow\",\n]\n"
            )
        };
        entries.map(entry).collect::<String>()
    };
    breaks(&other_than_one_version(&lock(&["59.1.0"])), &[]);
    breaks(&other_than_one_version(&lock(&["59.1.0", "60.0.0"])), &["arrow: 59.1.0, 60.0.0"]);
    breaks(&other_than_one_version(&lock(&[])), &["arrow: none"]);

    let homes = owned(&["/people/", "/checkout/of/me/"]);
    breaks(
        &local_paths("see \"/people/ada/x\" and /checkout/of/me/y", &homes),
        &["/people/ada/x", "/checkout/of/me/y"],
    );
    breaks(&local_paths("a/people/b, https://host/people/c, /peoples/d", &homes), &[]);
}

/// Returns what is wrong with the imports of a crate.
fn forbidden_imports(name: &str, imports: &[String]) -> Vec<String> {
    match IMPORTS.iter().find(|(known, _)| *known == name) {
        None => vec![format!("{name} is not in the table of imports")],
        Some((_, Imports::All)) => Vec::new(),
        Some((_, Imports::Only(allowed))) => imports
            .iter()
            .filter(|import| !allowed.contains(&import.as_str()))
            .map(|import| format!("{name} must not import {import}"))
            .collect(),
    }
}

/// Returns whether a manifest has `workspace = true` in its section `[lints]`.
fn takes_workspace_lints(manifest: &str) -> bool {
    let section = manifest.lines().map(str::trim).skip_while(|line| *line != "[lints]").skip(1);
    section
        .take_while(|line| !line.starts_with('['))
        .any(|line| line.replace(' ', "") == "workspace=true")
}

/// Returns the targets of a document's links that are files, without code, anchors and titles.
fn links(document: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut is_code = false;
    for line in document.lines() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        }
        if is_code || line.starts_with("    ") {
            continue;
        }
        // Every second part between back quotes is code.
        let prose: String = line.split('`').step_by(2).collect();
        let inline = prose.split("](").skip(1).filter_map(|rest| match rest.strip_prefix('<') {
            Some(bracketed) => bracketed.split_once('>').map(|(target, _)| target),
            None => rest.split([')', ' ']).next(),
        });
        let reference = prose.strip_prefix('[').and_then(|rest| rest.split_once("]: "));
        let targets = inline.chain(reference.map(|(_, target)| target.trim()));
        let files = targets
            .filter(|target| !target.contains("://") && !target.starts_with("mailto:"))
            .map(|target| target.split('#').next().unwrap_or_default().replace("%20", " "))
            .filter(|target| !target.is_empty());
        found.extend(files);
    }
    found
}

/// Returns the crates of [`ONE_VERSION`] that a lock file has not at all, or more than once.
fn other_than_one_version(lock: &str) -> Vec<String> {
    let lines: Vec<&str> = lock.lines().collect();
    let versions_of = |name: &str| -> Vec<String> {
        let wanted = format!("name = \"{name}\"");
        let entries = lines.windows(2).filter(|pair| pair.first() == Some(&wanted.as_str()));
        let version = |pair: &[&str]| {
            pair.last()?.strip_prefix("version = \"")?.strip_suffix('"').map(str::to_owned)
        };
        entries.filter_map(version).collect()
    };
    let complaint = |name: &&str| match versions_of(name) {
        one if one.len() == 1 => None,
        none if none.is_empty() => Some(format!("{name}: none")),
        several => Some(format!("{name}: {}", several.join(", "))),
    };
    ONE_VERSION.iter().filter_map(complaint).collect()
}

/// Returns the absolute paths below one of `homes` in a text.
fn local_paths(text: &str, homes: &[String]) -> Vec<String> {
    let is_path = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '_' | '-' | '~');
    let mut found = Vec::new();
    for home in homes {
        for (at, _) in text.match_indices(home.as_str()) {
            let (before, path) = text.split_at(at);
            // Behind a letter or a slash it is the end of another path or URL.
            if !before.ends_with(is_path) {
                found.push(path.split(|c: char| !is_path(c)).next().unwrap_or_default().to_owned());
            }
        }
    }
    found
}

/// Returns how paths of a person's machine begin: home folders, and this very checkout.
fn homes() -> Vec<String> {
    // Put together here, so that this file does not hold what it looks for.
    let mut homes: Vec<_> = ["home", "Users", "root"].map(|name| format!("/{name}/")).into();
    let root = root();
    // A root such as /src would be found in texts about anything.
    if root.components().count() > 2 {
        homes.push(format!("{}/", root.display()));
    }
    homes
}

/// Returns the root of the repository.
fn root() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    root.canonicalize().expect("the repository is there while its tests run")
}

/// Returns a path as it reads from the root.
fn relative(path: &Path) -> String {
    path.strip_prefix(root()).unwrap_or(path).display().to_string()
}

fn has_extension(path: &Path, extension: &str) -> bool {
    path.extension().is_some_and(|found| found == extension)
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| format!("unreadable: {error}"))
}

/// Returns all files below a folder, in order, but for what tools make.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        // A folder that another test has just removed has no files.
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        for entry in entries.flatten() {
            let Ok(kind) = entry.file_type() else { continue };
            let is_made = MADE_BY_TOOLS.iter().any(|name| entry.file_name() == *name);
            if kind.is_dir() && !is_made {
                folders.push(entry.path());
            } else if kind.is_file() {
                found.push(entry.path());
            }
        }
    }
    found.sort();
    found
}

/// Returns the files that git tracks, or `None` where there is no git or no repository.
fn tracked_files() -> Option<Vec<PathBuf>> {
    let root = root();
    let listed = Command::new("git").arg("-C").arg(&root).args(["ls-files", "-z"]).output().ok()?;
    let names = listed.status.success().then(|| String::from_utf8(listed.stdout).ok())??;
    Some(names.split('\0').filter(|name| !name.is_empty()).map(|name| root.join(name)).collect())
}

/// Returns the members of the workspace as cargo describes them.
fn members() -> Vec<Value> {
    let described = Command::new(env!("CARGO"))
        .current_dir(root())
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
        .output()
        .expect("cargo runs: it has built this test");
    assert!(described.status.success(), "{}", String::from_utf8_lossy(&described.stderr));
    let metadata: Value = serde_json::from_slice(&described.stdout).expect("cargo writes JSON");
    let members = metadata.get("packages").and_then(Value::as_array).cloned().unwrap_or_default();
    assert!(!members.is_empty(), "a workspace has members");
    members
}

fn text_of<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// Returns the normal dependencies of a member that are in the repository.
fn imports(member: &Value) -> Vec<String> {
    let dependencies = member.get("dependencies").and_then(Value::as_array);
    let is_normal_and_ours = |dependency: &&Value| {
        dependency.get("kind").is_some_and(Value::is_null)
            && dependency.get("path").is_some_and(Value::is_string)
    };
    let ours = dependencies.into_iter().flatten().filter(is_normal_and_ours);
    ours.map(|dependency| text_of(dependency, "name").to_owned()).collect()
}

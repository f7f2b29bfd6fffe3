//! Golden link commands of several systems and linkers, and real links with the compiler at hand.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, UNIX_EPOCH};

use super::align::{self, ALIGNMENT};
use super::command::{Linker, linker, parse};
use super::{Relinker, run};
use crate::build::relink::capture::{COMMAND, PLACE, beside};

fn chosen(text: &str) -> Result<Linker, String> {
    linker(&parse(text.as_bytes())?)
}

#[test]
fn commands_of_several_systems() {
    let call = parse(
        br#"LC_ALL="C" PATH="/rust/bin:/usr/bin" VSLANG="1033" "cc" "-m64" "/t/rustcA/symbols.o" "/t/a b.o" "-L" "/q\"\\\u{e4}\xff" "-o" "/t/deps/work-1f" "-Wl,--gc-sections""#,
    )
    .unwrap();
    assert_eq!(call.program, "cc");
    let names: Vec<_> = call.env.iter().map(|(name, _)| name.to_str().unwrap()).collect();
    assert_eq!(names, ["LC_ALL", "PATH", "VSLANG"]);
    assert_eq!(call.arguments[2], "/t/a b.o");
    assert_eq!(call.arguments[4].as_encoded_bytes(), b"/q\"\\\xc3\xa4\xff");
    assert_eq!(call.output(), PathBuf::from("/t/deps/work-1f"));
    let again = call.command(Path::new("/other"));
    let arguments: Vec<_> = again.get_args().map(|a| a.to_string_lossy()).collect();
    assert_eq!(arguments[5..], ["-o", "/other", "-Wl,--gc-sections"]);

    let removed = parse(br#"env -u IPHONEOS_DEPLOYMENT_TARGET -u X LC_ALL="C" "cc" "-o" "a""#);
    let removed = removed.unwrap();
    assert_eq!(removed.env[1], ("X".into(), None));
    assert_eq!(removed.env[2], ("LC_ALL".into(), Some("C".into())));
}

#[test]
fn what_is_no_command_is_refused() {
    for text in [
        "",
        "\"cc\"",
        "\"cc\" \"-o\"",
        "\"cc\" \"-o\" \"a",
        "\"cc\" bare \"-o\" \"a\"",
        "x\"cc\" \"-o\" \"a\"",
        "\"\\q\" \"-o\" \"a\"",
    ] {
        assert!(parse(text.as_bytes()).is_err(), "{text}");
    }
}

#[test]
fn the_linker_is_told_by_the_last_choice() {
    let lld = Linker::Lld { direct: false };
    let mold = Linker::Mold { direct: false };
    for (arguments, expected) in [
        (r#""cc" "-B/rust/bin/gcc-ld" "-fuse-ld=lld""#, lld),
        (r#""clang" "--ld-path=/usr/bin/ld.lld""#, lld),
        (r#""cc" "-fuse-ld=gold" "-fuse-ld=lld""#, lld),
        (r#""cc" "-fuse-ld=lld" "-fuse-ld=mold""#, mold),
        (r#""cc" "-B/usr/libexec/mold""#, mold),
        (r#""clang" "--ld-path=/opt/bin/mold""#, mold),
        (r#""/rust/bin/rust-lld" "-flavor" "gnu""#, Linker::Lld { direct: true }),
        (r#""ld.lld""#, Linker::Lld { direct: true }),
        (r#""mold""#, Linker::Mold { direct: true }),
    ] {
        assert_eq!(chosen(&format!("{arguments} \"-o\" \"a\"")), Ok(expected), "{arguments}");
    }
    for (arguments, named) in [
        (r#""cc" "-m64""#, "`cc`"),
        (r#""aarch64-linux-gnu-gcc""#, "`aarch64-linux-gnu-gcc`"),
        (r#""cc" "-fuse-ld=lld" "-fuse-ld=gold""#, "`gold`"),
        (r#""cc" "-fuse-ld=bfd""#, "`bfd`"),
        (r#""ld""#, "`ld`"),
        (r#""cc" "-arch" "arm64" "-Wl,-dead_strip""#, "macOS"),
    ] {
        let reason = chosen(&format!("{arguments} \"-o\" \"a\"")).unwrap_err();
        assert!(reason.contains(named) && reason.contains("lld"), "{reason}");
    }
}

#[test]
fn seeds_avoid_the_values_that_linkers_take_for_something_else() {
    for seed in [0, 1, 0x7fff_ffff, u64::from(u32::MAX), u64::MAX] {
        let argument = Linker::Mold { direct: true }.shuffle(seed).into_string().unwrap();
        let value: u64 = argument.rsplit('=').next().unwrap().parse().unwrap();
        assert!((1..=0x7fff_ffff).contains(&value), "{argument}");
    }
    assert_eq!(Linker::Lld { direct: false }.shuffle(6), "-Wl,--shuffle-sections=.text*=7");
}

/// Compiles a program and keeps its link command, as a bench is built.
fn build(directory: &Path, flags: &[&str]) -> PathBuf {
    let functions: String = (0..40)
        .map(|i| {
            format!(
                "#[inline(never)] fn f{i}(x: u64) -> u64 {{ std::hint::black_box(x) * {i} + 1 }}\n"
            )
        })
        .collect();
    let calls: String = (0..40).map(|i| format!("sum = f{i}(sum);\n")).collect();
    let source = format!(
        "{functions}fn main() {{ let mut sum = std::env::args().count() as u64;\n{calls}println!(\"{{sum}}\"); }}\n"
    );
    fs::write(directory.join("main.rs"), source).unwrap();
    let executable = directory.join("main-1f");
    let kept = executable.with_file_name(beside("main-1f".as_ref(), COMMAND));
    let output = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()))
        .args(["-O", "--edition=2021", "--crate-type=bin", "main.rs", "--emit=link"])
        .args(["-C", "extra-filename=-1f", "-C", "save-temps", "--out-dir"])
        .arg(directory)
        .arg(format!("--print=link-args={}", kept.display()))
        .args(flags)
        .current_dir(directory)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    fs::write(directory.join(beside("main-1f".as_ref(), PLACE)), directory.to_str().unwrap())
        .unwrap();
    executable
}

fn told(program: &Path) -> Vec<u8> {
    Command::new(program).output().unwrap().stdout
}

fn text(program: &Path) -> Vec<u8> {
    use object::{Object as _, ObjectSection as _};
    let bytes = fs::read(program).unwrap();
    let file = object::File::parse(&*bytes).unwrap();
    file.section_by_name(".text").unwrap().data().unwrap().to_vec()
}

/// Where the program's own functions lie.
fn functions(program: &Path) -> Vec<u64> {
    use object::{Object as _, ObjectSymbol as _};
    let bytes = fs::read(program).unwrap();
    let file = object::File::parse(&*bytes).unwrap();
    let own = file.symbols().filter(|s| s.name().is_ok_and(|name| name.contains("4main2f")));
    own.map(|symbol| symbol.address()).collect()
}

#[test]
fn copies_follow_their_originals_and_only_functions_are_aligned() {
    let directory = tempfile::tempdir().unwrap();
    build(directory.path(), &["-C", "codegen-units=1"]);
    let files = fs::read_dir(directory.path()).unwrap().flatten().map(|entry| entry.path());
    let source = files.into_iter().find(|path| path.extension().is_some_and(|e| e == "o")).unwrap();
    let original = fs::read(&source).unwrap();
    let copies = directory.path().join("copies");
    let copy = align::copy(&source, &copies).unwrap().unwrap();
    let aligned = fs::read(&copy).unwrap();
    // The field of a section's alignment is 8 bytes, and nothing else may differ.
    let differing = original.iter().zip(&aligned).filter(|(a, b)| a != b).count();
    assert_eq!(original.len(), aligned.len());
    assert!(differing > 0);
    assert_eq!(align::align(&mut aligned.clone()), 0, "all are aligned already");

    assert_eq!(align::copy(&source, &copies).unwrap().unwrap(), copy);
    let mut longer = original.clone();
    longer.push(0);
    fs::write(&source, &longer).unwrap();
    let next = align::copy(&source, &copies).unwrap().unwrap();
    assert!(next != copy && !copy.exists() && next.exists());

    fs::write(&source, "no object file").unwrap();
    assert_eq!(align::copy(&source, &copies).unwrap(), None);
    assert!(align::copy(&directory.path().join("absent.o"), &copies).is_err());
}

#[test]
fn names_of_copies_are_the_same_for_every_compiler() {
    let time = UNIX_EPOCH + Duration::from_millis(1500);
    // The first digits of `printf '7 1500000000' | sha256sum` and of `printf '7 0' | sha256sum`.
    assert_eq!(align::version(7, Some(time)), "a48493383c98bd63");
    assert_eq!(align::version(7, None), "9fc5a7d9f8ce0cd9");
}

#[test]
fn damaged_objects_are_left_alone() {
    let directory = tempfile::tempdir().unwrap();
    build(directory.path(), &["-C", "codegen-units=1"]);
    let files = fs::read_dir(directory.path()).unwrap().flatten().map(|entry| entry.path());
    let source = files.into_iter().find(|path| path.extension().is_some_and(|e| e == "o")).unwrap();
    let original = fs::read(source).unwrap();
    // Every header byte turned over, and every length: never a panic, never another length.
    for at in 0..64 {
        let mut bytes = original.clone();
        bytes[at] ^= 0xff;
        align::align(&mut bytes);
        assert_eq!(bytes.len(), original.len());
        let mut short = original[..original.len() * at / 64].to_vec();
        align::align(&mut short);
    }
}

#[test]
fn a_seed_draws_a_layout_and_nothing_else() {
    for flags in [
        &[] as &[&str],
        &["-C", "codegen-units=16"],
        &["-C", "codegen-units=1", "-C", "strip=symbols"],
        &["-C", "lto=fat", "-C", "panic=abort"],
        &["-C", "lto=thin", "-C", "debuginfo=2"],
    ] {
        let directory = tempfile::tempdir().unwrap();
        let executable = build(directory.path(), flags);
        let mut layouts = match Relinker::read(&executable) {
            Ok(layouts) => layouts,
            Err(reason) => {
                // The only honest way to pass here; the message shows with `--nocapture`.
                let words = format!("skipped: {reason}\n");
                let _ = std::io::Write::write_all(&mut std::io::stderr(), words.as_bytes());
                return;
            }
        };
        let at = |name: &str| directory.path().join(name);
        layouts.prove(&executable, &at("scratch")).unwrap();
        assert!(layouts.seconds() > 0.0 && !at("scratch").exists());
        layouts.relink(7, &at("one")).unwrap();
        layouts.relink(7, &at("same")).unwrap();
        layouts.relink(8, &at("other")).unwrap();
        assert_eq!(told(&executable), told(&at("one")), "{flags:?}");
        assert!(fs::read(at("one")).unwrap() == fs::read(at("same")).unwrap(), "{flags:?}");
        assert!(text(&at("one")) != text(&at("other")), "{flags:?}");
        assert!(text(&at("one")) != text(&executable), "{flags:?}");

        layouts.align(&at("aligned")).unwrap();
        layouts.relink(7, &at("one")).unwrap();
        layouts.relink(8, &at("other")).unwrap();
        assert_eq!(told(&executable), told(&at("one")), "{flags:?}");
        assert!(text(&at("one")) != text(&at("other")), "{flags:?}");
        let places = functions(&at("one"));
        assert!(places.iter().all(|place| place % ALIGNMENT == 0), "{flags:?}: {places:x?}");
        assert_eq!(places.is_empty(), flags.contains(&"strip=symbols"), "{flags:?}");
    }
}

#[test]
fn what_is_missing_or_stale_is_said() {
    let directory = tempfile::tempdir().unwrap();
    let executable = directory.path().join("main-1f");
    let write = |extension: &str, text: &str| {
        fs::write(directory.path().join(beside("main-1f".as_ref(), extension)), text).unwrap();
    };
    let reason = || Relinker::read(&executable).unwrap_err();
    assert!(reason().contains("kept no link command"), "{}", reason());
    write(PLACE, "refused: `sccache` stands before rustc");
    assert_eq!(reason(), "`sccache` stands before rustc");
    write(PLACE, directory.path().to_str().unwrap());
    assert!(reason().contains("1.75"), "{}", reason());
    write(COMMAND, "nonsense");
    assert!(reason().contains("unknown form"), "{}", reason());
    write(COMMAND, r#""false" "-o" "elsewhere" "-fuse-ld=lld""#);
    assert!(reason().contains("another file"), "{}", reason());
    write(COMMAND, r#""false" "-o" "main-1f" "-fuse-ld=lld""#);
    let mut layouts = Relinker::read(&executable).unwrap();
    let scratch = directory.path().join("scratch");
    let reason = layouts.prove(&executable, &scratch).unwrap_err();
    assert!(reason.contains("`false` failed"), "{reason}");
    assert!(layouts.relink(1, &scratch).is_err() && !scratch.exists());
}

#[test]
fn a_linker_that_hangs_is_ended_and_one_that_complains_is_quoted() {
    let mut hangs = Command::new("cat");
    hangs.arg("/dev/zero");
    let error = run(&mut hangs, Duration::from_millis(20)).unwrap_err();
    assert!(error.contains("took more than"), "{error}");
    let mut complains = Command::new("sh");
    complains.args(["-c", "echo undefined symbol >&2; exit 3"]);
    let error = run(&mut complains, Duration::from_secs(60)).unwrap_err();
    assert!(error.contains("undefined symbol"), "{error}");
}

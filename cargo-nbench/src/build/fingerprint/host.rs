//! The machine: processor, memory, system and how its clock may vary. The key
//! must not change when the machine stays the same, nor tell who owns it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use sysinfo::{CpuRefreshKind, MemoryRefreshKind, RefreshKind, System};

use super::{Component, key};

/// The facts that make one host another. Clock speed, memory, kernel and names
/// are left out: they change while the machine stays comparable to itself.
const KEY: [&str; 7] = [
    "arch",
    "os_family",
    "cpu_vendor",
    "cpu_model",
    "physical_cores",
    "logical_cores",
    "virtualization",
];

/// The machine that measures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// Sixteen hexadecimal digits: results of different keys are not joined.
    pub key: String,
    /// One line for people.
    pub summary: String,
    /// Every fact by name.
    pub components: BTreeMap<String, Component>,
}

impl Host {
    /// Reads the facts now; a few milliseconds.
    pub fn read() -> Self {
        let mut components = portable();
        components.extend(files(Path::new("/")));
        Self::from_components(components)
    }

    fn from_components(components: BTreeMap<String, Component>) -> Self {
        let text = |name: &str| {
            components.get(name).map_or_else(|| "unavailable".to_owned(), ToString::to_string)
        };
        // A reason may change with permissions, so it is not part of the key.
        let known = |name: &str| match components.get(name) {
            Some(Component::Value(value)) => value.clone(),
            _ => "unavailable".to_owned(),
        };
        let value = |name: &str| match components.get(name) {
            Some(Component::Value(value)) => Some(value.as_str()),
            _ => None,
        };
        let cores = match (value("physical_cores"), value("logical_cores")) {
            (Some(physical), Some(logical)) => format!("{physical} cores, {logical} threads"),
            (_, Some(logical)) => format!("{logical} threads"),
            _ => "cores unknown".to_owned(),
        };
        let summary = format!("{}, {cores}, {}, {}", text("cpu_model"), text("os"), text("arch"));
        Self { key: key(KEY.map(|name| (name, known(name)))), summary, components }
    }
}

/// Facts of the system's interfaces, on every platform.
fn portable() -> BTreeMap<String, Component> {
    let system = System::new_with_specifics(
        RefreshKind::nothing()
            .with_cpu(CpuRefreshKind::nothing())
            .with_memory(MemoryRefreshKind::nothing().with_ram()),
    );
    let unknown = "the system does not tell";
    let first = system.cpus().first();
    let count = |count: usize| Some(count).filter(|count| *count > 0).map(|c| c.to_string());
    let memory = Some(system.total_memory()).filter(|bytes| *bytes > 0);
    let facts = [
        ("cpu_model", first.map(|cpu| cpu.brand().trim().to_owned())),
        ("cpu_vendor", first.map(|cpu| cpu.vendor_id().trim().to_owned())),
        ("physical_cores", System::physical_core_count().and_then(count)),
        ("logical_cores", count(system.cpus().len())),
        ("memory_bytes", memory.map(|bytes| bytes.to_string())),
        ("os", System::long_os_version()),
        ("os_family", Some(std::env::consts::OS.to_owned())),
        ("kernel", System::kernel_version()),
        ("arch", Some(std::env::consts::ARCH.to_owned())),
    ];
    facts.map(|(name, fact)| (name.to_owned(), Component::or(fact, unknown))).into()
}

/// Facts of Linux's files, below `root` so that tests can write them.
fn files(root: &Path) -> BTreeMap<String, Component> {
    let facts = [
        ("virtualization", virtualization(root)),
        ("container", container(root)),
        ("governor", governor(root)),
        ("turbo", turbo(root)),
        ("smt", smt(root)),
    ];
    facts.map(|(name, fact)| (name.to_owned(), fact)).into()
}

fn text(path: PathBuf) -> Option<String> {
    let text = fs::read_to_string(path).ok()?.trim().to_owned();
    (!text.is_empty()).then_some(text)
}

fn virtualization(root: &Path) -> Component {
    let Some(processors) = text(root.join("proc/cpuinfo")) else {
        return Component::unavailable("no /proc/cpuinfo");
    };
    let hypervisor = processors.lines().any(|line| {
        let (name, flags) = line.split_once(':').unwrap_or((line, ""));
        name.trim() == "flags" && flags.split_whitespace().any(|flag| flag == "hypervisor")
    });
    if let Some(kind) = text(root.join("sys/hypervisor/type")) {
        return Component::value(kind);
    }
    let firmware = ["sys_vendor", "product_name"]
        .into_iter()
        .filter_map(|name| text(root.join("sys/class/dmi/id").join(name)))
        .collect::<Vec<_>>()
        .join(" ")
        .to_lowercase();
    let known = [
        ("qemu", "kvm"),
        ("kvm", "kvm"),
        ("firecracker", "firecracker"),
        ("google compute", "google"),
        ("amazon ec2", "amazon"),
        ("vmware", "vmware"),
        ("virtualbox", "virtualbox"),
        ("virtual machine", "hyper-v"),
        ("openstack", "openstack"),
        ("parallels", "parallels"),
        ("xen", "xen"),
        ("bhyve", "bhyve"),
    ];
    let named = known.iter().find(|(sign, _)| firmware.contains(sign));
    match (named, hypervisor) {
        // Bare-metal instances of clouds carry the cloud's name as well.
        (Some((_, kind)), true) => Component::value(*kind),
        (None, true) => Component::value("unnamed hypervisor"),
        (Some((_, kind)), false) if cfg!(not(target_arch = "x86_64")) => Component::value(*kind),
        _ if cfg!(target_arch = "x86_64") || !firmware.is_empty() => Component::value("none"),
        _ => Component::unavailable("this processor has no flag for it"),
    }
}

fn container(root: &Path) -> Component {
    if root.join(".dockerenv").exists() {
        return Component::value("docker");
    }
    if root.join("run/.containerenv").exists() {
        return Component::value("podman");
    }
    let Some(groups) = text(root.join("proc/1/cgroup")) else {
        return Component::unavailable("no /proc/1/cgroup");
    };
    let known = [
        ("kubepods", "kubernetes"),
        ("docker", "docker"),
        ("containerd", "containerd"),
        ("libpod", "podman"),
        ("lxc", "lxc"),
    ];
    let found = known.iter().find(|(sign, _)| groups.contains(sign));
    Component::value(found.map_or("none", |(_, kind)| kind))
}

fn governor(root: &Path) -> Component {
    let directory = root.join("sys/devices/system/cpu");
    let governors: BTreeSet<String> = fs::read_dir(&directory)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| text(entry.path().join("cpufreq/scaling_governor")))
        .collect();
    let governors: Vec<String> = governors.into_iter().collect();
    Component::or(Some(governors.join("+")), "no cpufreq in /sys/devices/system/cpu")
}

fn turbo(root: &Path) -> Component {
    let directory = root.join("sys/devices/system/cpu");
    let switches = [("intel_pstate/no_turbo", "0"), ("cpufreq/boost", "1")];
    for (file, on) in switches {
        if let Some(state) = text(directory.join(file)) {
            return Component::value(if state == on { "on" } else { "off" });
        }
    }
    Component::unavailable("neither intel_pstate/no_turbo nor cpufreq/boost")
}

fn smt(root: &Path) -> Component {
    let directory = root.join("sys/devices/system/cpu/smt");
    match text(directory.join("active")).as_deref() {
        Some("1") => Component::value("on"),
        Some("0") => {
            let control = text(directory.join("control"));
            Component::value(control.map_or("off".to_owned(), |control| format!("off ({control})")))
        }
        _ => Component::unavailable("no /sys/devices/system/cpu/smt/active"),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;
    use std::path::Path;

    use super::{Component, Host, files};

    fn read(root: &Path) -> BTreeMap<String, String> {
        files(root).into_iter().map(|(name, fact)| (name, fact.to_string())).collect()
    }

    #[test]
    fn absent_files_have_reasons() {
        let directory = tempfile::tempdir().unwrap();
        for (name, fact) in files(directory.path()) {
            assert!(matches!(fact, Component::Unavailable(reason) if reason.len() > 5), "{name}");
        }
    }

    #[test]
    fn written_files_are_understood() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        let write = |name: &str, text: &str| {
            let path = root.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("proc/cpuinfo", "processor\t: 0\nflags\t\t: fpu hypervisor sse2\n");
        write("proc/1/cgroup", "0::/kubepods/pod1\n");
        write("sys/class/dmi/id/sys_vendor", "QEMU\n");
        let cpu = "sys/devices/system/cpu";
        write(&format!("{cpu}/cpu0/cpufreq/scaling_governor"), "powersave\n");
        write(&format!("{cpu}/cpu1/cpufreq/scaling_governor"), "performance\n");
        write(&format!("{cpu}/intel_pstate/no_turbo"), "1\n");
        write(&format!("{cpu}/smt/active"), "0\n");
        write(&format!("{cpu}/smt/control"), "forceoff\n");
        let expected = [
            ("container", "kubernetes"),
            ("governor", "performance+powersave"),
            ("smt", "off (forceoff)"),
            ("turbo", "off"),
            ("virtualization", "kvm"),
        ];
        let expected = expected.map(|(name, fact)| (name.to_owned(), fact.to_owned()));
        assert_eq!(read(root), BTreeMap::from(expected));
    }

    #[test]
    fn the_key_ignores_what_may_change_on_one_machine() {
        let host = Host::read();
        assert_eq!(host.key.len(), 16);
        assert_eq!(host.key, Host::read().key);
        for (name, changes) in [
            ("memory_bytes", false),
            ("kernel", false),
            ("governor", false),
            ("os", false),
            ("cpu_model", true),
            ("logical_cores", true),
            ("virtualization", true),
        ] {
            let mut components = host.components.clone();
            components.insert(name.to_owned(), Component::value("something else"));
            assert_eq!(Host::from_components(components).key != host.key, changes, "{name}");
        }
    }

    #[test]
    fn this_machine_has_a_processor() {
        let host = Host::read();
        assert!(matches!(host.components.get("logical_cores"), Some(Component::Value(_))));
        assert!(host.summary.contains(std::env::consts::ARCH), "{}", host.summary);
    }
}

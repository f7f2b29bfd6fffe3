//! Executables in another link layout: where they come from, in which order they are linked, and
//! that none stays behind. It must not know what is measured with them.

use std::path::PathBuf;

use crate::build::relink::Relinker;
use crate::measure::launch::Program;

/// Where the executables of one bench target get their layouts from.
#[derive(Debug, Clone)]
pub enum Supply {
    /// Nobody asked.
    Kept,
    /// Somebody asked, but they cannot be varied, for the reason given.
    Unavailable(String),
    /// One source per side.
    Ready(Vec<LayoutSource>),
}

/// One side's executable, to be linked again.
#[derive(Debug, Clone)]
pub struct LayoutSource {
    /// How it is linked.
    pub layouts: Relinker,
    /// Which stream of seeds orders it. Sides of one stream that have the same functions get the
    /// same order, so that luck cancels in their pairs.
    pub stream: usize,
    /// Where to. Names of all sides have the same length, so that nothing but the layout differs.
    pub to: PathBuf,
}

impl Supply {
    /// Seconds that drawing a layout for every side takes.
    pub fn seconds(&self) -> f64 {
        match self {
            Supply::Ready(sources) => sources.iter().map(|s| s.layouts.seconds()).sum(),
            Supply::Kept | Supply::Unavailable(_) => 0.0,
        }
    }

    /// Links every side in a new order for one launch; nothing when layouts are not varied.
    ///
    /// # Errors
    /// Why, when one side cannot be linked: then no side has another layout.
    pub fn draw(&self, seed: u64, launch: usize) -> Option<Result<Drawn, String>> {
        let Supply::Ready(sources) = self else { return None };
        let mut drawn = Drawn { paths: Vec::new() };
        for source in sources {
            let order = order(seed, launch, source.stream);
            if let Err(reason) = source.layouts.relink(order, &source.to) {
                return Some(Err(reason));
            }
            drawn.paths.push(source.to.clone());
        }
        Some(Ok(drawn))
    }
}

/// The seed of an order: unrelated to that of any other stream or launch.
pub(super) fn order(seed: u64, launch: usize, stream: usize) -> u64 {
    let mut state = seed;
    for part in [launch as u64, stream as u64] {
        state = mix(state ^ mix(part.wrapping_add(0x9e37_79b9_7f4a_7c15)));
    }
    state
}

/// The finaliser of SplitMix64.
fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// The seed of all layouts of one bench target: targets of equal seeds must not share their
/// conditions.
pub fn target_seed(seed: u64, package: &str, target: &str) -> u64 {
    let bytes = package.bytes().chain([0]).chain(target.bytes());
    bytes.fold(seed, |state, byte| mix(state.wrapping_add(0x9e37_79b9_7f4a_7c15) ^ u64::from(byte)))
}

/// How the orders of several sides relate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Draws {
    /// One order for all: where sides have the same functions they get the same layout, and its
    /// luck cancels (common random numbers); where functions came or went orders differ, and
    /// the luck is part of the interval. Either way the change is an average over layouts.
    Shared,
    /// One order for each: for a comparison with itself that shall be as noisy as one of builds
    /// that share no layout.
    PerSide,
}

/// Executables of one launch; dropping them deletes them.
#[derive(Debug)]
pub struct Drawn {
    pub(super) paths: Vec<PathBuf>,
}

impl Drawn {
    /// The program of a side with its executable of this launch.
    pub fn program(&self, side: usize, built: &Program) -> Program {
        let path = self.paths.get(side).unwrap_or(&built.path).clone();
        Program { path, ..built.clone() }
    }
}

impl Drop for Drawn {
    fn drop(&mut self) {
        for path in &self.paths {
            let _ = std::fs::remove_file(path);
        }
    }
}

//! Whose turn it is: tests that expect a verdict run alone, all others beside each other. It knows
//! nothing of what a turn is used for.

use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

static TURNS: RwLock<()> = RwLock::new(());

/// Held for as long as a fixture lives.
pub enum Turn {
    BesideOthers { _guard: RwLockReadGuard<'static, ()> },
    Alone { _guard: RwLockWriteGuard<'static, ()> },
}

/// Waits until nobody runs alone. One thread must not hold two turns.
pub fn beside_others() -> Turn {
    // A test that failed says nothing against the next one.
    Turn::BesideOthers { _guard: TURNS.read().unwrap_or_else(PoisonError::into_inner) }
}

/// Waits until nobody else has a turn.
pub fn alone() -> Turn {
    Turn::Alone { _guard: TURNS.write().unwrap_or_else(PoisonError::into_inner) }
}

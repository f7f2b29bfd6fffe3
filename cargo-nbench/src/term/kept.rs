//! A stream for tests that can be looked at afterwards. It must not know what is written to it.

use std::cell::RefCell;
use std::io::{Result, Write};
use std::rc::Rc;

/// A stream whose copies share what was written.
#[derive(Clone, Default)]
pub(crate) struct Kept(Rc<RefCell<Vec<u8>>>);

impl Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        self.0.borrow_mut().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
}

impl Kept {
    /// All that was written.
    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.0.borrow().clone()).unwrap()
    }
}

//! Rings in shared memory.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::path::Path;
use std::time::Duration;

use crosstalk_comm::ring::{Ring, Side};
use crosstalk_core::Fault;

use super::traits::Port;

/// A port over rings in shared memory. A frame is a fixed number of bytes in them.
pub struct Memory {
    ring: Ring,
}

impl Port for Memory {
    fn open(place: &Path, endpoint: usize, nap: Option<Duration>) -> Result<Self, Fault> {
        let side = if endpoint == 0 { Side::First } else { Side::Second };
        let map = || Ring::map(File::options().read(true).write(true).open(place)?, side, nap, nap.is_some());
        let ring = map().map_err(|e: io::Error| {
            Fault::environment(format!("cannot share memory: {e}")).at(place.display().to_string())
        })?;
        Ok(Memory { ring })
    }

    fn frame(&self, size: usize) -> (Vec<u8>, usize) {
        (vec![0; size], 0)
    }

    #[inline]
    fn send(&mut self, frame: &[u8]) -> io::Result<()> {
        // At most one frame is on its way in each direction: it fits.
        self.ring.write_all(frame)
    }

    #[inline]
    fn receive(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let mut done = self.ring.read(into)?;
        // The rest of a frame is being copied.
        while done < into.len() && done > 0 {
            match self.ring.read(&mut into[done..]) {
                Ok(0) => return Ok(0),
                Ok(n) => done += n,
                Err(e) if e.kind() == ErrorKind::WouldBlock => {}
                Err(e) => return Err(e),
            }
        }
        Ok(done)
    }
}

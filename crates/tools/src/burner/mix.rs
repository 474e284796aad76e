//! The resources, and a round of work on each.

use std::fs::File;
use std::hint::black_box;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::thread;

/// The resource that a burner uses: processors, caches, memory, disk or network.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mix {
    Cpu,
    Cache,
    Memory,
    Disk,
    Network,
}

impl Mix {
    /// Every mix; the first is the default.
    pub const ALL: [Mix; 5] = [Mix::Cpu, Mix::Cache, Mix::Memory, Mix::Disk, Mix::Network];

    /// Its name in a study file.
    pub fn name(self) -> &'static str {
        match self {
            Mix::Cpu => "cpu",
            Mix::Cache => "cache",
            Mix::Memory => "memory",
            Mix::Disk => "disk",
            Mix::Network => "network",
        }
    }
}

/// A function that does one round of work.
pub type Round = Box<dyn FnMut() -> io::Result<()>>;

const MEBIBYTE: usize = 1 << 20;

/// Opens what a thread of a burner uses, and returns the function that does one round of its
/// work. `path` is a file of the thread's own.
///
/// # Errors
/// Where the file or the connection cannot be opened.
pub fn rounds(mix: Mix, path: &Path) -> io::Result<Round> {
    let mut state = 1_u64;
    let mut random = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state
    };
    Ok(match mix {
        Mix::Cpu => Box::new(move || {
            black_box((0..1_000_000).fold(0, |sum: u64, _| sum ^ random()));
            Ok(())
        }),
        Mix::Cache => {
            let mut table = vec![0_u64; MEBIBYTE / 8];
            Box::new(move || {
                for _ in 0..1 << 16 {
                    let place = random() as usize >> 20;
                    let length = table.len();
                    table[place % length] += 1;
                }
                Ok(())
            })
        }
        Mix::Memory => {
            let (mut from, mut to) = (vec![1_u8; 32 * MEBIBYTE], vec![0_u8; 32 * MEBIBYTE]);
            Box::new(move || {
                black_box(&mut to).copy_from_slice(black_box(&from));
                std::mem::swap(&mut from, &mut to);
                Ok(())
            })
        }
        Mix::Disk => {
            let mut file = File::create(path)?;
            let (block, mut written) = (vec![7_u8; MEBIBYTE], 0);
            Box::new(move || {
                file.write_all(&block)?;
                file.sync_data()?;
                written += 1;
                if written % 64 == 0 {
                    file.seek(SeekFrom::Start(0))?;
                }
                Ok(())
            })
        }
        Mix::Network => {
            let listener = TcpListener::bind("127.0.0.1:0")?;
            let mut sender = TcpStream::connect(listener.local_addr()?)?;
            let (mut receiver, _) = listener.accept()?;
            // The thread ends when the sender is closed.
            thread::spawn(move || {
                let mut into = vec![0; 1 << 16];
                while receiver.read(&mut into).is_ok_and(|length| length > 0) {}
            });
            let block = vec![7_u8; MEBIBYTE];
            Box::new(move || sender.write_all(&block))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mix_does_a_round_and_another() {
        for mix in Mix::ALL {
            let folder = tempfile::tempdir().expect("a temporary folder");
            let path = folder.path().join("file");
            let mut round = rounds(mix, &path).expect("begins");
            assert!(round().and_then(|()| round()).is_ok(), "{}", mix.name());
            let written = path.metadata().map_or(0, |file| file.len());
            assert_eq!(written > 0, mix == Mix::Disk, "{}", mix.name());
        }
    }
}

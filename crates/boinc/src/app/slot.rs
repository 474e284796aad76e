//! The slot directory's files.

use rustix::fs::{FlockOperation, flock};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use crate::markup::first;
use crosstalk_core::Fault;

use crate::collatz::{BLOCKS_PER_RANGE, Block, LONGEST_FILE, NumberRange, answer_file};

/// The name of the task's input file, as the project calls it in its `<open_name>`.
pub const INPUT: &str = "in";
/// The name of the task's output file.
pub const OUTPUT: &str = "out";

/// The checkpoint's file.
const CHECKPOINT_FILE: &str = "crosstalk_done";

/// How long another process of the same task may take to notice that its client has ended.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);

/// Seconds after which the client starts a postponed task again.
const RESTART_DELAY: u32 = 5;

/// The directory in which a BOINC client runs one task.
pub struct Slot {
    folder: PathBuf,
}

impl Slot {
    /// The slot directory at `folder`.
    pub fn new(folder: &Path) -> Self {
        Slot { folder: folder.into() }
    }

    /// Locks it against other processes of the same task; `None` where one of them keeps the lock.
    pub fn lock(&self) -> Result<Option<File>, Fault> {
        let path = self.folder.join("boinc_lockfile");
        let file = OpenOptions::new().create(true).truncate(false).write(true).open(&path);
        let file = file.map_err(|e| fault(&path, "cannot open it", &e))?;
        let until = Instant::now() + LOCK_TIMEOUT;
        while flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
            if Instant::now() >= until {
                return Ok(None);
            }
            thread::sleep(Duration::from_millis(50));
        }
        Ok(Some(file))
    }

    /// Reads the task's input.
    pub fn read_input(&self) -> Result<NumberRange, Fault> {
        let path = self.resolve(INPUT)?;
        NumberRange::parse(&read(&path)?).map_err(|fault| fault.at(path.display().to_string()))
    }

    /// The blocks of the checkpoint: whole lines only, as the last may be cut.
    pub fn read_checkpoint(&self, span: NumberRange) -> Result<Vec<Block>, Fault> {
        let path = self.folder.join(CHECKPOINT_FILE);
        let text = match read(&path) {
            Ok(text) => text,
            Err(_) if !path.exists() => return Ok(Vec::new()),
            Err(fault) => return Err(fault),
        };
        let lines = text.strip_prefix(&span.to_file()).unwrap_or_default();
        let whole = lines.rfind('\n').map_or("", |end| &lines[..end]);
        Ok(whole.lines().map_while(Block::parse).take(BLOCKS_PER_RANGE as usize).collect())
    }

    /// Writes a checkpoint. A checkpoint that was cut counts as far as its lines are whole.
    pub fn write_checkpoint(&self, blocks: &[Block]) -> Result<(), Fault> {
        let span = self.read_input()?;
        self.replace(&self.folder.join(CHECKPOINT_FILE), &answer_file(span, blocks))
    }

    /// Writes the output, then the file that says so.
    pub fn write_output(&self, answer: &str) -> Result<(), Fault> {
        let path = self.resolve(OUTPUT)?;
        self.replace(&path, answer)?;
        self.replace(&self.folder.join("boinc_finish_called"), "0\n")
    }

    /// Asks the client to start the task again later.
    pub fn request_later_start(&self, why: &str) -> Result<(), Fault> {
        self.replace(&self.folder.join("boinc_temporary_exit"), &format!("{RESTART_DELAY}\n{why}\n"))
    }

    /// The file that a name in the slot directory links to.
    fn resolve(&self, name: &str) -> Result<PathBuf, Fault> {
        let path = self.folder.join(name);
        if !path.exists() || path.is_symlink() {
            return Ok(path);
        }
        let link = first(&read(&path)?, "soft_link").map(|element| element.text());
        Ok(link.map_or(path, |link| self.folder.join(link)))
    }

    fn replace(&self, path: &Path, text: &str) -> Result<(), Fault> {
        // Under another name first: a reader sees all of it or nothing.
        let beside = self.folder.join("crosstalk_new");
        let write = || -> io::Result<()> {
            let mut file = File::create(&beside)?;
            file.write_all(text.as_bytes())?;
            fs::rename(&beside, path)
        };
        write().map_err(|e| fault(path, "cannot write it", &e))
    }
}

/// Reads a file of limited size.
fn read(path: &Path) -> Result<String, Fault> {
    let mut text = String::new();
    File::open(path)
        .and_then(|file| file.take(LONGEST_FILE).read_to_string(&mut text))
        .map_err(|e| fault(path, "cannot read it", &e))?;
    Ok(text)
}

fn fault(path: &Path, what: &str, e: &io::Error) -> Fault {
    Fault::environment(format!("{what}: {e}")).at(path.display().to_string())
}

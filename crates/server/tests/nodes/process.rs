//! Processes of nodes.

use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};

use crate::node::{LISTENS, Order};

/// A node that runs until it is dropped.
pub(crate) struct Node {
    child: Child,
    pub(crate) address: SocketAddr,
}

impl Node {
    pub(crate) fn start(order: &Order) -> Self {
        let (name, text) = order.text();
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "node", "--nocapture", "--test-threads=1"])
            .env(name, text)
            // It ends with the test, however that ends: nobody holds the other end of the pipe then.
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let address = loop {
            let line = lines.next().expect("the node ended").unwrap();
            if let Some(address) = line.strip_prefix(LISTENS) {
                break address.parse().unwrap();
            }
        };
        // The pipe is read on, so that nothing that the node prints stops it.
        std::thread::spawn(move || lines.for_each(drop));
        Self { child, address }
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Ends it as a power failure would.
    pub(crate) fn kill(mut self) {
        self.end();
    }

    /// Tells it to end, as a supervisor does, and waits until it has.
    pub(crate) fn terminate(mut self) {
        let told = Command::new("kill").arg("-TERM").arg(self.child.id().to_string()).status().unwrap();
        assert!(told.success());
        // Waiting closes the pipe at whose end it ends, too.
        let _held = self.child.stdin.take();
        let status = self.child.wait().unwrap();
        assert!(status.success(), "{status}");
    }

    fn end(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.end();
    }
}

//! One Linux machine: facts, namespaces, links, clocks, the undo ledger.

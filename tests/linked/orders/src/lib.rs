//! Tools in a crate that a program only links: of functions that nobody names, of a type, and of one that cannot be
//! made without being told how.

use attache_macros::toolbox;

mod open {
    use attache_macros::tool;

    /// Lists the open orders.
    #[tool(name = "orders.open", effect = "read")]
    fn list() -> Vec<u32> {
        vec![17]
    }

    mod late {
        use attache_macros::tool;

        /// Lists the orders that are late.
        #[tool(name = "orders.late", effect = "read")]
        fn list() -> Vec<u32> {
            vec![4]
        }
    }
}

mod opened {
    use attache_macros::tool;

    /// Counts the orders that were opened.
    #[tool(name = "orders.opened", effect = "read")]
    fn count() -> u32 {
        2
    }
}

/// A ledger.
#[derive(Debug, Default)]
pub struct Ledger;

#[toolbox]
impl Ledger {
    /// Sums the ledger up.
    #[tool(name = "ledger.total", effect = "read")]
    fn total(&self) -> u32 {
        42
    }
}

/// A till that somebody has to open.
#[derive(Debug)]
pub struct Till(u32);

#[toolbox]
impl Till {
    /// Opens a till.
    pub fn open(money: u32) -> Self {
        Self(money)
    }

    /// Counts the money.
    #[tool(name = "till.count", effect = "read")]
    fn count(&self) -> u32 {
        self.0
    }
}

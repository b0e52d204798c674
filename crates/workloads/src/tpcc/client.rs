//! A client: draws and performs one transaction after another, and keeps a tally of the endings.

use super::customer::{Customer, CustomerKey};
use super::delivery::{self, Batch, Delivery};
use super::inputs::Inputs;
use super::mix::{DELIVERY, NEW_ORDER, ORDER_STATUS, PAYMENT, STOCK_LEVEL};
use super::new_order::NewOrder;
use super::options::{self, Options};
use super::order_status::OrderStatus;
use super::payment::Payment;
use super::schema::{Operations, Tpcc};
use super::stock_level::StockLevel;
use super::tally::Tally;
use super::terminal::Terminal;
use crate::distributions::Stream;
use std::collections::VecDeque;
use std::sync::Arc;
use syncline_contract::{AccessPattern, Client, Ending, Session, Stop, Transaction, Waits};

/// One terminal of the workload.
#[derive(Debug)]
pub struct TpccClient {
    operations: Arc<Operations>,
    options: Options,
    mix: Stream,
    inputs: Inputs,
    terminal: Terminal,
    new_order: NewOrder,
    payment: Payment,
    order_status: OrderStatus,
    delivery: Delivery,
    stock_level: StockLevel,
    /// Batches of drawn deliveries that have not started.
    queued: VecDeque<Batch>,
    /// Drawn waits that have not been taken, in nanoseconds.
    waits: Waits,
    tally: Tally,
}

impl TpccClient {
    pub(super) fn new(tpcc: &Tpcc, number: usize, seed: u64) -> TpccClient {
        let options = tpcc.options;
        let warehouses = options.scale().warehouses;
        let terminal = Terminal::new(number, warehouses, options.profile, options.think, seed);
        let home = terminal.home;
        let customer = Customer { warehouse: home, district: 1, key: CustomerKey::Number(1) };
        TpccClient {
            operations: Arc::clone(&tpcc.operations),
            options,
            mix: Stream::of_client(seed, number, "mix"),
            inputs: Inputs::new(&options, home, number, seed),
            terminal,
            new_order: NewOrder::default(),
            payment: Payment::new(customer),
            order_status: OrderStatus::new(customer),
            delivery: Delivery::default(),
            stock_level: StockLevel::default(),
            queued: VecDeque::new(),
            waits: Waits::default(),
            tally: Tally::new(home),
        }
    }

    /// The next transaction at the terminal. A deferred delivery is queued instead, and the following
    /// transaction is drawn.
    fn at_terminal(&mut self) -> usize {
        loop {
            let kind = self.options.weights.draw(&mut self.mix);
            self.waits.before_ns += self.terminal.keying_ns(kind);
            let think_ns = self.terminal.think_ns(kind);
            if kind == DELIVERY {
                let batch = self.options.delivery_batch;
                let queued = &mut self.queued;
                let push = |batch| queued.push_back(batch);
                delivery::draw(&mut self.inputs, self.options.profile, batch, push);
                if self.options.defers() {
                    self.waits.before_ns += think_ns;
                    continue;
                }
            }
            self.waits.after_ns = think_ns;
            return kind;
        }
    }
}

impl Options {
    /// True if deliveries wait until after the next transaction; if deliveries are the only transactions,
    /// there is nothing to wait for.
    fn defers(&self) -> bool {
        let others = [NEW_ORDER, PAYMENT, ORDER_STATUS, STOCK_LEVEL];
        self.delivery == options::Delivery::Deferred
            && others.iter().any(|kind| self.weights.has(*kind))
    }
}

impl Client for TpccClient {
    type Tally = Tally;

    #[inline]
    fn draw(&mut self) -> usize {
        let kind = if self.queued.is_empty() { self.at_terminal() } else { DELIVERY };
        match kind {
            NEW_ORDER => self.new_order.draw(&mut self.inputs),
            PAYMENT => self.payment.draw(&mut self.inputs),
            ORDER_STATUS => self.order_status.draw(&mut self.inputs),
            STOCK_LEVEL => self.stock_level.draw(&mut self.inputs, self.terminal.district),
            _ => {
                let batch = self.queued.pop_front();
                self.delivery.start(batch.expect("a drawn delivery is queued"));
            }
        }
        kind
    }

    #[inline]
    fn access_pattern(&self, kind: usize) -> AccessPattern {
        match kind {
            ORDER_STATUS | STOCK_LEVEL => AccessPattern::ReadOnly,
            _ => AccessPattern::Several,
        }
    }

    /// Keying precedes a terminal's transaction; thinking follows it, after the deliveries that are still
    /// pending.
    #[inline]
    fn waits(&mut self, _kind: usize) -> Waits {
        let before_ns = std::mem::take(&mut self.waits.before_ns);
        let after_ns =
            if self.queued.is_empty() { std::mem::take(&mut self.waits.after_ns) } else { 0 };
        Waits { before_ns, after_ns }
    }

    #[inline]
    async fn perform<S: Session>(
        &mut self,
        kind: usize,
        transaction: &mut Transaction<'_, S>,
    ) -> Result<(), Stop> {
        let by = &*self.operations;
        match kind {
            NEW_ORDER => self.new_order.perform(&by.new_order, transaction).await,
            PAYMENT => self.payment.perform(&by.payment, transaction).await,
            ORDER_STATUS => {
                let performed = self.order_status.perform(&by.order_status, transaction);
                performed.await
            }
            DELIVERY => self.delivery.perform(&by.delivery, transaction).await,
            _ => self.stock_level.perform(&by.stock_level, transaction).await,
        }
    }

    #[inline]
    fn ended(&mut self, kind: usize, ending: Ending) {
        match kind {
            NEW_ORDER => {
                let (district, number) = (self.new_order.district(), self.new_order.number);
                self.tally.new_order(ending, district, number);
            }
            PAYMENT => self.tally.payments.ended(ending, 1, 1),
            DELIVERY => {
                let (delivered, most) = (self.delivery.delivered, self.delivery.orders_max());
                self.tally.delivered.ended(ending, delivered, most);
            }
            _ => {}
        }
    }

    fn tally(self) -> Tally {
        self.tally
    }
}

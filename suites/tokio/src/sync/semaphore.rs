//! `Semaphore`.

use myriad::sync as on;
use std::fmt;
use std::future::Future;
use std::sync::Arc;

/// It is closed.
#[derive(Debug)]
pub struct AcquireError(());

/// Why `try_acquire` brought nothing.
#[derive(Debug, PartialEq, Eq)]
pub enum TryAcquireError {
    /// It is closed.
    Closed,
    /// There are not so many.
    NoPermits,
}

/// Permits.
#[derive(Debug)]
pub struct Semaphore(Arc<on::Semaphore>);

/// Permits that are held.
pub struct SemaphorePermit<'a> {
    on: on::Permit<'a>,
    of: &'a Semaphore,
}

/// Permits that are held, with the semaphore.
#[derive(Debug)]
pub struct OwnedSemaphorePermit {
    on: on::OwnedPermit,
    of: Arc<Semaphore>,
}

impl Semaphore {
    /// So many permits.
    pub fn new(permits: usize) -> Semaphore {
        Semaphore(Arc::new(on::Semaphore::new(permits)))
    }
    /// How many are free.
    pub fn available_permits(&self) -> usize {
        self.0.available()
    }
    /// Takes some away that are free.
    pub fn forget_permits(&self, n: usize) -> usize {
        self.0.forget_permits(n)
    }
    /// More of them.
    pub fn add_permits(&self, n: usize) {
        self.0.add_permits(n);
    }
    fn permit<'a>(&'a self, on: on::Permit<'a>) -> SemaphorePermit<'a> {
        SemaphorePermit { on, of: self }
    }
    /// Waits for one.
    pub fn acquire(&self) -> impl Future<Output = Result<SemaphorePermit<'_>, AcquireError>> {
        self.acquire_many(1)
    }
    /// Waits for some.
    pub async fn acquire_many(&self, n: u32) -> Result<SemaphorePermit<'_>, AcquireError> {
        Ok(self.permit(self.0.acquire_many_async(n as usize).await))
    }
    /// One, if it is free.
    pub fn try_acquire(&self) -> Result<SemaphorePermit<'_>, TryAcquireError> {
        self.try_acquire_many(1)
    }
    /// Some, if they are free.
    pub fn try_acquire_many(&self, n: u32) -> Result<SemaphorePermit<'_>, TryAcquireError> {
        self.0.try_acquire_many(n as usize).map(|on| self.permit(on)).ok_or(TryAcquireError::NoPermits)
    }
    /// Blocks for one.
    pub fn blocking_acquire(&self) -> Result<SemaphorePermit<'_>, AcquireError> {
        self.blocking_acquire_many(1)
    }
    /// Blocks for some.
    pub fn blocking_acquire_many(&self, n: u32) -> Result<SemaphorePermit<'_>, AcquireError> {
        Ok(self.permit(self.0.acquire_many(n as usize)))
    }
    /// Waits for one, to keep.
    pub fn acquire_owned(self: Arc<Self>) -> impl Future<Output = Result<OwnedSemaphorePermit, AcquireError>> {
        self.acquire_many_owned(1)
    }
    /// Waits for some, to keep.
    pub async fn acquire_many_owned(self: Arc<Self>, n: u32) -> Result<OwnedSemaphorePermit, AcquireError> {
        let on = self.0.acquire_many_async(n as usize).await.into_owned(&self.0);
        Ok(OwnedSemaphorePermit { on, of: self })
    }
    /// One, if it is free, to keep.
    pub fn try_acquire_owned(self: Arc<Self>) -> Result<OwnedSemaphorePermit, TryAcquireError> {
        self.try_acquire_many_owned(1)
    }
    /// Some, if they are free, to keep.
    pub fn try_acquire_many_owned(self: Arc<Self>, n: u32) -> Result<OwnedSemaphorePermit, TryAcquireError> {
        let permit = self.0.try_acquire_many(n as usize).ok_or(TryAcquireError::NoPermits)?;
        Ok(OwnedSemaphorePermit { on: permit.into_owned(&self.0), of: self })
    }
    /// Blocks for one, to keep.
    pub fn blocking_acquire_owned(self: Arc<Self>) -> Result<OwnedSemaphorePermit, AcquireError> {
        self.blocking_acquire_many_owned(1)
    }
    /// Blocks for some, to keep.
    pub fn blocking_acquire_many_owned(self: Arc<Self>, n: u32) -> Result<OwnedSemaphorePermit, AcquireError> {
        Ok(OwnedSemaphorePermit { on: self.0.acquire_many(n as usize).into_owned(&self.0), of: self })
    }
}

impl<'a> SemaphorePermit<'a> {
    /// How many.
    pub fn num_permits(&self) -> usize {
        self.on.count()
    }
    /// They are gone.
    pub fn forget(self) {
        self.on.forget();
    }
    /// Some of them.
    pub fn split(&mut self, n: usize) -> Option<SemaphorePermit<'a>> {
        (n <= self.on.count()).then(|| self.of.permit(self.on.split(n)))
    }
    /// Those of the other, too.
    pub fn merge(&mut self, other: Self) {
        self.on.merge(other.on);
    }
    /// Of this one.
    pub fn semaphore(&self) -> &'a Semaphore {
        self.of
    }
}

impl OwnedSemaphorePermit {
    /// How many.
    pub fn num_permits(&self) -> usize {
        self.on.count()
    }
    /// They are gone.
    pub fn forget(self) {
        self.on.forget();
    }
    /// Those of the other, too.
    pub fn merge(&mut self, other: Self) {
        self.on.merge(other.on);
    }
    /// Some of them.
    pub fn split(&mut self, n: usize) -> Option<Self> {
        (n <= self.on.count()).then(|| OwnedSemaphorePermit { on: self.on.split(n), of: self.of.clone() })
    }
    /// Of this one.
    pub fn semaphore(&self) -> &Arc<Semaphore> {
        &self.of
    }
}

impl fmt::Debug for SemaphorePermit<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.on, f)
    }
}

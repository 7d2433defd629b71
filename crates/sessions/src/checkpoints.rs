//! The checkpoints of sessions: forked, restored, named, forgotten.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::error::SessionsError;
use crate::keys::{PackKey, TenantKey, random};
use crate::sessions::{Inner, Sessions, in_task};
use wardian_stores::blobs::local::disk::Disk;
use wardian_stores::sessions::{
    CheckpointNaming, Forgotten, ForkParts, ForkRoom, Forked, NewFork, StoredCheckpoint, StoredPack,
};
use wardian_vocabulary::ids::{CheckpointId, SessionId, TenantId};

/// Maximum number of forks that one call makes.
pub const MAX_FORKS: usize = 16;

impl<D: Disk> Sessions<D> {
    /// The checkpoints of a session after cells with higher numbers than `after`, in order, at most
    /// `limit`.
    ///
    /// # Errors
    ///
    /// As [`find`](Self::find).
    pub async fn checkpoints(
        &self,
        tenant: &TenantId,
        session: &SessionId,
        after: u32,
        limit: u64,
    ) -> Result<Vec<StoredCheckpoint>, SessionsError> {
        self.find(tenant, session).await?;
        Ok(self.0.store.checkpoints(session, after, limit).await?)
    }

    /// Makes other sessions of a checkpoint; of the one that the session is at, if none is given. They
    /// share its packs, and are told to reseed. The session itself goes on as before. `own` is what each of
    /// them has for itself.
    ///
    /// Returns the id of each fork, or its error: those for which the tenant has no room.
    ///
    /// # Errors
    ///
    /// [`SessionsError::NotFound`], [`SessionsError::Expired`], [`SessionsError::NoCheckpoint`],
    /// [`SessionsError::TooMany`] for more than [`MAX_FORKS`], [`SessionsError::Damaged`] if a key is
    /// missing, or the store fails. No fork was made then.
    pub async fn fork(
        &self,
        tenant: &TenantId,
        session: &SessionId,
        checkpoint: Option<&CheckpointId>,
        count: usize,
        own: &ForkParts,
    ) -> Result<Vec<Result<SessionId, SessionsError>>, SessionsError> {
        if count > MAX_FORKS {
            let limit = u64::try_from(MAX_FORKS).unwrap_or(u64::MAX);
            let advice = "make the others in another call";
            return Err(SessionsError::TooMany { of: "forks in one call", limit, advice });
        }
        let found = self.find(tenant, session).await?;
        let checkpoint = checkpoint.cloned().or(found.head);
        let missing = || SessionsError::NoCheckpoint { checkpoint: checkpoint.clone() };
        let from = checkpoint.as_ref().ok_or_else(missing)?;
        let chain = self.0.store.chain(session, from).await?;
        if chain.is_empty() {
            return Err(missing());
        }
        let keys = self.0.keys_of_chain(tenant, session, from, &chain).await?;
        // A fork is durable at once, and its state is that of this session. Its row makes those before it
        // durable too.
        self.0.sync_chain(&chain).await?;
        let tenant_key = TenantKey::ensure(&self.0.keys, tenant).await?;
        let mut forks = Vec::with_capacity(count);
        for _ in 0..count {
            let id = SessionId::of_random(&random()?);
            let inherited = keys.iter().map(|(origin, key)| tenant_key.wrap(&id, origin, key));
            let own_key = tenant_key.wrap(&id, &id, &PackKey::generate()?);
            let keys = inherited.chain([own_key]).collect::<Result<_, _>>()?;
            forks.push(NewFork { id, own: own.clone(), keys });
        }
        let inner = &self.0;
        let limit = inner.config.max_parked;
        let room = ForkRoom { sessions: inner.config.max_sessions, bytes: limit.as_u64() };
        let now_ms = inner.now_ms();
        let forked = inner.store.fork(tenant, (session, from), &forks, now_ms, room).await?;
        let (made, is_full) = match forked {
            Forked::Done(made) => (made, false),
            Forked::Full(made) => (made, true),
            Forked::NoSession => return Err(SessionsError::NotFound { session: session.clone() }),
            Forked::NoCheckpoint => return Err(missing()),
        };
        let answers = forks.into_iter().enumerate();
        Ok(answers
            .map(|(at, fork)| match at < made {
                true => Ok(fork.id),
                false if is_full => Err(SessionsError::Full { limit }),
                false => Err(inner.too_many()),
            })
            .collect())
    }

    /// Lets a session go on from one of its checkpoints, reseeded. Later ones stay until they are thinned
    /// out.
    ///
    /// # Errors
    ///
    /// [`SessionsError::NotFound`], [`SessionsError::Expired`], [`SessionsError::NoCheckpoint`],
    /// [`SessionsError::Busy`] while a cell is running, [`SessionsError::Waiting`] while one waits for its
    /// caller, or the store fails.
    pub async fn restore(
        &self,
        tenant: &TenantId,
        session: &SessionId,
        checkpoint: &CheckpointId,
    ) -> Result<(), SessionsError> {
        self.find(tenant, session).await?;
        let permit = self.0.turns.take(session, Duration::ZERO).await;
        let permit = permit.ok_or_else(|| SessionsError::Busy { session: session.clone() })?;
        let (inner, session, checkpoint) =
            (Arc::clone(&self.0), session.clone(), checkpoint.clone());
        in_task(async move {
            if let Some(waiting) = inner.store.waiting_cell(&session).await? {
                return Err(SessionsError::Waiting { session, cell: waiting.number });
            }
            let is_done = inner.store.restore(&session, &checkpoint, inner.now_ms()).await?;
            drop(permit);
            let missing = SessionsError::NoCheckpoint { checkpoint: Some(checkpoint) };
            if is_done { Ok(()) } else { Err(missing) }
        })
        .await
    }

    /// Gives a checkpoint a name, so that it is not thinned out, or takes its name away. The name is bounded
    /// by the caller.
    ///
    /// # Errors
    ///
    /// [`SessionsError::NotFound`], [`SessionsError::Expired`], [`SessionsError::NoCheckpoint`],
    /// [`SessionsError::NameTaken`] if another checkpoint of the session has it, or the store fails.
    pub async fn name_checkpoint(
        &self,
        tenant: &TenantId,
        session: &SessionId,
        checkpoint: &CheckpointId,
        name: Option<&str>,
    ) -> Result<(), SessionsError> {
        self.find(tenant, session).await?;
        match self.0.store.name_checkpoint(session, checkpoint, name).await? {
            CheckpointNaming::Done => Ok(()),
            CheckpointNaming::NotFound => {
                Err(SessionsError::NoCheckpoint { checkpoint: Some(checkpoint.clone()) })
            }
            CheckpointNaming::Taken(checkpoint) => Err(SessionsError::NameTaken { checkpoint }),
        }
    }

    /// The checkpoint of a session with this name.
    ///
    /// # Errors
    ///
    /// As [`find`](Self::find).
    pub async fn named_checkpoint(
        &self,
        tenant: &TenantId,
        session: &SessionId,
        name: &str,
    ) -> Result<Option<CheckpointId>, SessionsError> {
        self.find(tenant, session).await?;
        Ok(self.0.store.named_checkpoint(session, name).await?)
    }

    /// Removes a checkpoint, and the packs that nothing else needs.
    ///
    /// # Errors
    ///
    /// [`SessionsError::NotFound`], [`SessionsError::Expired`], [`SessionsError::NoCheckpoint`],
    /// [`SessionsError::IsCurrent`] if the session is at this checkpoint, or the store fails.
    pub async fn forget_checkpoint(
        &self,
        tenant: &TenantId,
        session: &SessionId,
        checkpoint: &CheckpointId,
    ) -> Result<(), SessionsError> {
        self.find(tenant, session).await?;
        let (inner, session, checkpoint) =
            (Arc::clone(&self.0), session.clone(), checkpoint.clone());
        in_task(async move {
            match inner.store.forget_checkpoint(&session, &checkpoint).await? {
                Forgotten::Done(removed) => inner.remove_files(removed).await,
                Forgotten::NotFound => {
                    Err(SessionsError::NoCheckpoint { checkpoint: Some(checkpoint) })
                }
                Forgotten::IsHead => Err(SessionsError::IsCurrent { checkpoint }),
            }
        })
        .await
    }
}

impl<D: Disk> Inner<D> {
    /// The keys that `session` has of the packs of a chain, by the session that sealed them.
    pub(crate) async fn keys_of_chain(
        &self,
        tenant: &TenantId,
        session: &SessionId,
        checkpoint: &CheckpointId,
        chain: &[StoredPack],
    ) -> Result<BTreeMap<SessionId, PackKey>, SessionsError> {
        let damaged = || SessionsError::Damaged { checkpoint: checkpoint.clone() };
        let tenant_key = TenantKey::find(&self.keys, tenant).await?.ok_or_else(damaged)?;
        let wrapped = self.store.keys(session).await?;
        let mut keys = BTreeMap::new();
        for pack in chain {
            let origin = &pack.id.origin;
            if !keys.contains_key(origin) {
                let key = wrapped.iter().find(|key| key.origin == *origin);
                let key = key.and_then(|key| tenant_key.unwrap(session, key));
                keys.insert(origin.clone(), key.ok_or_else(damaged)?);
            }
        }
        Ok(keys)
    }
}

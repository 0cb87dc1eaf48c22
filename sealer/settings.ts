import { RegistryError } from '../core/errors.ts'
import type { Anchor, TimestampAuthority, TreeEngine } from '../core/ports/index.ts'
import type { AnchorSchedule } from './anchorer.ts'
import type { BatchRules, DurationObserver, Schedule } from './schedule.ts'
import { LEASE_MS } from './lease.ts'
import { witnessSettings, type WitnessOptions, type WitnessSettings } from './witness-settings.ts'

/** Options of `createSealer`. The sealer owns the engine, the authorities and the anchor, and closes them. */
export interface SealerOptions {
  /** Hashes the tree. Default: a `PoolEngine`, whose worker threads start with the first large batch. */
  readonly engine?: TreeEngine
  /** Stamps the checkpoints (RFC 3161). Default: none. */
  readonly timestampAuthority?: TimestampAuthority
  /**
   * Several authorities instead of `timestampAuthority`. All stamp the same checkpoints. Each needs its own name, and
   * trust anchors that no other one has or issued.
   */
  readonly timestampAuthorities?: readonly TimestampAuthority[]
  /** How many of the authorities make a stamp. Default: more than half. */
  readonly quorum?: number | undefined
  /** The chain that checkpoints are anchored in. Default: none. */
  readonly anchor?: Anchor
  /** The witnesses that cosign the checkpoints. Default: none. */
  readonly witnesses?: WitnessOptions | undefined
  /**
   * The least time from one batch to the next, ms: how long an event waits at most. An event that comes after a pause
   * is sealed at once. Default 500.
   */
  readonly maxWaitMs?: number
  /** A batch closes when it has this many entries. Default 65,536. */
  readonly maxLeaves?: number
  /**
   * Minimum time between two anchors, ms. Default 60,000. 0: the newest checkpoint is anchored as soon as the previous
   * anchor is confirmed.
   */
  readonly anchorIntervalMs?: number
  /**
   * Minimum time between two stamps, ms. Default 60,000. 0: the newest checkpoint is stamped as soon as the previous
   * stamp is complete. With witnesses it is not less than their interval.
   */
  readonly tsaIntervalMs?: number
  /** How often the store and the chain are polled, ms. Default 1,000. */
  readonly pollIntervalMs?: number
  /** How often the chain is polled for an anchor's status, ms. Default: `pollIntervalMs`. */
  readonly anchorPollIntervalMs?: number
  /** A stuck or rejected transaction is replaced when it is this old, ms. Default 180,000. */
  readonly anchorReplaceAfterMs?: number
  /** Called with the duration of each step that did something, ms. For metrics. */
  readonly onDuration?: DurationObserver
  /**
   * With shared records: another process takes over when a sealer has not renewed its lease for this long, ms. Default
   * 5,000.
   */
  readonly leaseMs?: number
}

/** The numbers of `SealerOptions`, checked and with defaults. */
export interface SealerSettings {
  readonly batches: BatchRules
  readonly stamps: Schedule
  readonly anchors: AnchorSchedule
  readonly witnesses: WitnessSettings | undefined
  readonly pollIntervalMs: number
  readonly leaseMs: number
  readonly onDuration: DurationObserver | undefined
}

/** Between stamps and between anchors. Batches are far more often, and each stamp covers all events before it. */
const INTERVAL_MS = 60_000
/** Fifteen of Ethereum's blocks: a transaction that pays enough is included by then. */
const ANCHOR_REPLACE_AFTER_MS = 180_000

/** Throws `CONFIG_ERROR` if a number is out of range. */
export function sealerSettings(options: SealerOptions): SealerSettings {
  const pollIntervalMs = integer('pollIntervalMs', options.pollIntervalMs ?? 1_000, 1)
  const witnesses = options.witnesses && witnessSettings(options.witnesses)
  const tsaIntervalMs = integer('tsaIntervalMs', options.tsaIntervalMs ?? INTERVAL_MS, 0)
  return {
    witnesses,
    batches: {
      maxLeaves: integer('maxLeaves', options.maxLeaves ?? 65_536, 1),
      maxWaitMs: integer('maxWaitMs', options.maxWaitMs ?? 500, 0),
    },
    // Only a checkpoint that was submitted to witnesses is stamped.
    stamps: { intervalMs: Math.max(tsaIntervalMs, witnesses?.intervalMs ?? 0), pollIntervalMs },
    anchors: {
      intervalMs: integer('anchorIntervalMs', options.anchorIntervalMs ?? INTERVAL_MS, 0),
      pollIntervalMs: integer('anchorPollIntervalMs', options.anchorPollIntervalMs ?? pollIntervalMs, 1),
      replaceAfterMs: integer('anchorReplaceAfterMs', options.anchorReplaceAfterMs ?? ANCHOR_REPLACE_AFTER_MS, 0),
    },
    pollIntervalMs,
    leaseMs: integer('leaseMs', options.leaseMs ?? LEASE_MS, 1),
    onDuration: options.onDuration,
  }
}

/** Returns the value of an option. Throws `CONFIG_ERROR` unless it is an integer from `min`. */
export function integer(name: string, value: number, min: number): number {
  if (!Number.isSafeInteger(value) || value < min)
    throw new RegistryError('CONFIG_ERROR', `${name} must be an integer >= ${min}, got ${value}`)
  return value
}

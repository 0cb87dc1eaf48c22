/**
 * What one server does at the same time: a queue for each kind of work, and budgets for memory. Both are shared among
 * senders by the same rule (`Shares`).
 */

const MIB = 1024 * 1024

/** How many requests of a queue run at the same time, and how many more may wait. */
export interface QueueLimits {
  readonly running: number
  readonly waiting: number
}

/**
 * Without a key; reads; lists, bundles and long histories; writes in JSON; forms; downloads; long polls. Labels of
 * metrics have these names.
 */
export const QUEUE_NAMES = ['public', 'reads', 'lists', 'writes', 'uploads', 'downloads', 'held'] as const
export type QueueName = (typeof QUEUE_NAMES)[number]

/** What one server does at the same time, and holds in memory. */
export interface LoadLimits {
  readonly queues: Readonly<Record<QueueName, QueueLimits>>
  /** Longest time in which a request waits for its turn. Longer waits mean that the store stands still. */
  readonly maxWaitMs: number
  /** Bytes of all request bodies in memory. Files do not count, because they are streamed. */
  readonly bodyBytes: number
  /** Bytes of responses that their clients have not yet read. */
  readonly unreadBytes: number
  /** A response ends if its client reads nothing for this long, or up to twice as long. */
  readonly stalledReaderMs: number
}

/** Constants, not settings: they were measured together, and a wrong one stops the service. */
export const LOAD_LIMITS: LoadLimits = {
  queues: {
    public: { running: 96, waiting: 928 },
    reads: { running: 96, waiting: 928 },
    // A result can have tens of megabytes, and hold the event loop for 100 ms.
    lists: { running: 4, waiting: 200 },
    writes: { running: 512, waiting: 640 },
    // With S3, each holds 8 MiB.
    uploads: { running: 48, waiting: 200 },
    downloads: { running: 128, waiting: 200 },
    // A quarter of all requests that may be in progress.
    held: { running: 1_024, waiting: 64 },
  },
  maxWaitMs: 10_000,
  bodyBytes: 64 * MIB,
  unreadBytes: 128 * MIB,
  stalledReaderMs: 30_000,
}

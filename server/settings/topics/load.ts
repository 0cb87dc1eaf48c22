import { MAX_BODY_MEMORY_BYTES, MAX_BUSY_MS, WORK_LIMITS, type WorkLimit } from '../../http/admission.ts'
import { ADDRESS_LIMIT_PER_MINUTE } from '../../http/rate-limit.ts'
import { MAX_UNREAD_RESPONSE_BYTES } from '../../http/unread-responses.ts'
import { integer, optional, setting, text, type Accepted } from '../setting.ts'

const MIB = 1024 * 1024
/** The longest text of a body (`request-body.ts`). With less memory it would always be rejected. */
const MAX_TEXT_BYTES = 8 * MIB

/** A limit as it is written: `64/1000`. */
const workLimit: Accepted<WorkLimit> = {
  accepts: 'RUNNING/WAITING: two integers, the first from 1 to 100000, the second from 0 to 100000',
  parse(value) {
    const [, running, waiting] = /^(\d{1,6})\/(\d{1,6})$/.exec(value) ?? []
    if (running === undefined || waiting === undefined) return undefined
    const limit = { running: Number(running), waiting: Number(waiting) }
    return limit.running >= 1 && limit.running <= 100_000 && limit.waiting <= 100_000 ? limit : undefined
  },
}

const limitOf = (fallback: WorkLimit, doc: string) =>
  setting(workLimit, { fallback, shownFallback: `${fallback.running}/${fallback.waiting}`, doc })

const metricsAddress = text(
  'HOST:PORT, such as 127.0.0.1:9464 or [::1]:9464',
  /^(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\]):\d{1,5}$/,
)

/**
 * What one server does at the same time. Beyond it, requests get 503 with `Retry-After` at once. One key or address can
 * have two thirds of the places of a class (`admission.ts`).
 */
export const load = {
  limitPublic: limitOf(
    WORK_LIMITS.public,
    'Requests with neither a key nor a body that run at the same time, and that wait',
  ),
  limitValidations: limitOf(
    WORK_LIMITS.validations,
    'Requests without a key that have a body, such as POST /merkle/validate, that run at the same time, and that wait',
  ),
  limitReads: limitOf(WORK_LIMITS.reads, 'Reads with a key that run at the same time, and that wait'),
  limitLists: limitOf(
    WORK_LIMITS.lists,
    'Lists, bundles and histories of more than 50 events that run at the same time, and that wait',
  ),
  limitWrites: limitOf(WORK_LIMITS.writes, 'Writes whose body is not a form that run at the same time, and that wait'),
  limitUploads: limitOf(
    WORK_LIMITS.uploads,
    'Writes whose body is a form, with or without files, that run at the same time, and that wait. With S3, each holds 8 MiB',
  ),
  limitDownloads: limitOf(WORK_LIMITS.downloads, 'Downloads of files that run at the same time, and that wait'),
  maxBusyMs: setting(integer(1, 600_000), {
    fallback: MAX_BUSY_MS,
    doc: 'While the process is busy without a pause, it accepts new requests for this long, then rejects them for this long, and so on. Requests without a key are accepted only in the first half of the accepting time',
  }),
  maxBodyMemoryBytes: setting(integer(MAX_TEXT_BYTES, 2 ** 40), {
    fallback: MAX_BODY_MEMORY_BYTES,
    doc: 'Bytes of JSON and texts of all request bodies in memory together. Files do not count, because they are streamed',
  }),
  maxUnreadResponseBytes: setting(integer(MIB, 2 ** 40), {
    fallback: MAX_UNREAD_RESPONSE_BYTES,
    doc: 'Bytes of responses of 16 KiB or more that their clients have not yet read. One key or address can have a quarter of them, all requests without a key together half. Streamed lists and files do not count',
  }),
  maxConnections: setting(integer(1, 1_000_000), {
    fallback: 10_000,
    shownFallback: '10000, or less if the process may not open enough files',
    doc: 'Open connections. More are closed at once, so that the stores always have file descriptors. One address can have two thirds of them, unless EVIDENCE_TRUST_PROXY is set',
  }),
  uploadMinBytesPerSecond: setting(integer(0, 1_000_000), {
    fallback: 500,
    doc: 'A request is ended if its body is slower than this, measured over at least EVIDENCE_UPLOAD_IDLE_MS of waiting',
  }),
  addressLimitPerMinute: setting(integer(0, 10_000_000), {
    fallback: ADDRESS_LIMIT_PER_MINUTE,
    doc: 'Requests per minute of one address (of IPv6: one /64 network) without a valid key, except those for the policy, the checkpoint and the tiles of the log. 0 means no limit',
  }),
  metricsAddress: optional(metricsAddress, {
    shownFallback: 'the address of the service',
    doc: 'Serves /metrics at another address only, so that it is not public',
  }),
} as const

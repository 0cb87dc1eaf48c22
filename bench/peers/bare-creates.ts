import { randomBytes, randomUUID } from 'node:crypto'
import { Level } from 'level'
import { OPENING_BYTES, SALT_BYTES, TAG_BYTES } from '../../core/commitment/event-format.ts'
import { concatBytes, decodeUtf8, encodeUtf8, sha256HexOfText, toHex, u64 } from '../../core/bytes.ts'
import { keysToRead } from '../../core/store/commit-plan.ts'
import type { Commit, Key } from '../../core/ports/index.ts'
import { itemAt } from '../workload/concurrency.ts'
import { categoryOf, evidenceOf } from '../workload/evidence.ts'
import { Recorder, type Recording } from '../workload/observed-stores.ts'
import { createCategories, EvidenceCreator, openBenchRegistry, type BenchRegistry } from '../workload/registry.ts'
import type { Writer, Writing } from '../workload/writing.ts'

/**
 * A bare loop of what creates do to the disk and the processor: the same reads, the same hashes of the same texts, the
 * same records written, and one sync for each group. It has no validation, canonical JSON, salts, key building, checks
 * or promises. The work is not listed here but recorded from real creates, so it stays the same if the registry
 * changes. The loop uses every optimization that made the registry faster.
 */

/** A hashed text, with the tag and salt before it. */
interface HashedText {
  readonly before: Uint8Array
  readonly text: string
}

/** The store calls and hashes of one real create. */
interface RecordedCreate {
  /** The keys of each read before the commit. */
  readonly gets: readonly (readonly Key[])[]
  readonly commit: Commit
  readonly hashed: readonly HashedText[]
  /** The parts of its keys that only this create has: external id, id, txId. */
  readonly uniqueParts: readonly string[]
}

interface BarePut {
  readonly key: Key
  /** The parsed value, if it is JSON. It is encoded again before it is written, after 8 bytes of version. */
  readonly value: object | Uint8Array
}

/** A recorded create with its own keys, prepared before the measurement. */
interface PreparedCreate {
  readonly gets: readonly (readonly Key[])[]
  readonly checkedKeys: readonly Key[]
  readonly puts: readonly BarePut[]
  readonly counters: readonly Key[]
  readonly hashed: readonly HashedText[]
  readonly position: Key
}

const BY_TEXT = { keyEncoding: 'utf8', valueEncoding: 'view' } as const
const POSITION = '\0pos'
const RECORDED_CREATES = 64

export class BareCreates implements Writer {
  readonly #db: Level<string, Uint8Array>
  readonly #recorded: readonly RecordedCreate[]
  #prepared = 0
  #logged = 0

  private constructor(db: Level<string, Uint8Array>, recorded: readonly RecordedCreate[]) {
    this.#db = db
    this.#recorded = recorded
  }

  /** Records some creates, and opens a LevelDB in `folder`. */
  static async open(folder: string): Promise<BareCreates> {
    const recorder = new Recorder()
    const bench = await openBenchRegistry({ wrap: recorder.record })
    try {
      await createCategories(bench)
      const recorded = await recordCreates(bench, new EvidenceCreator(bench), recorder)
      const db = new Level<string, Uint8Array>(folder, BY_TEXT)
      await db.open()
      const batch = db.batch()
      for (const [key, value] of await readShared(bench, recorded)) batch.put(key, value)
      await batch.write({ sync: true })
      return new BareCreates(db, recorded)
    } finally {
      await bench.close()
    }
  }

  close(): Promise<void> {
    return this.#db.close()
  }

  /** Each group one synced batch. Only this is timed. */
  async write({ size, width, seconds }: Writing): ReturnType<Writer['write']> {
    let [completed, ms] = [0, 0]
    for (; ms < seconds * 1_000; completed += size * width) {
      const creates = Array.from({ length: size * width }, () => this.#prepare())
      const begin = performance.now()
      await this.#writeGroup(creates)
      ms += performance.now() - begin
    }
    return { completed, seconds: ms / 1_000 }
  }

  async #writeGroup(creates: readonly PreparedCreate[]): Promise<void> {
    const db = this.#db
    for (const { gets, hashed } of creates) {
      for (const key of gets.flat()) db.getSync(key, BY_TEXT)
      for (const { before, text } of hashed) sha256HexOfText(text, before)
    }
    const checkedKeys = [...new Set(creates.flatMap((create) => create.checkedKeys))]
    for (const key of checkedKeys) db.getSync(key, BY_TEXT)
    const batch = db.batch()
    batch.put('\0head', randomBytes(33))
    for (const key of new Set(creates.flatMap(({ counters }) => counters))) batch.put(key, new Uint8Array(16))
    for (const { puts, position } of creates) {
      for (const { key, value } of puts) batch.put(key, encodeValue(value))
      batch.put(position, u64(this.#logged++))
    }
    const row = `\0log${this.#logged.toString(16).padStart(14, '0')}`
    batch.put(row, randomBytes(32 * creates.length))
    await batch.write({ sync: true })
  }

  #prepare(): PreparedCreate {
    const index = this.#prepared++
    const recorded = itemAt(this.#recorded, index)
    const entry = randomBytes(32)
    const names = [`bare ${index}`, idAt(Date.now()), toHex(entry)]
    const renamed = (key: Key): Key =>
      recorded.uniqueParts.reduce((out, part, i) => out.replace(part, names[i] ?? part), key)
    const { writes = [], adds = [] } = recorded.commit
    return {
      gets: recorded.gets.map((keys) => keys.map(renamed)),
      checkedKeys: keysToRead(recorded.commit).map(renamed),
      puts: writes.map(({ key, value }) => ({
        key: renamed(key),
        value: value && isJson(value) ? JSON.parse(decodeUtf8(value)) : (value ?? new Uint8Array()),
      })),
      counters: adds.map(({ key }) => key),
      hashed: recorded.hashed,
      position: POSITION + entry.toString('base64'),
    }
  }
}

const VERSION = new Uint8Array(8)

/** Of an evidence, which is an array, or of another record. */
const isJson = ([first]: Uint8Array): boolean => first === 0x5b || first === 0x7b

/** An entry without a value is stored without a version. */
const encodeValue = (value: object | Uint8Array): Uint8Array =>
  value instanceof Uint8Array && value.length === 0
    ? value
    : concatBytes(VERSION, value instanceof Uint8Array ? value : encodeUtf8(JSON.stringify(value)))

/** A UUIDv7 like the registry's, whose ids rise with time. */
const idAt = (ms: number): string => {
  const time = ms.toString(16).padStart(12, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`
}

/** Records the store calls and the hashes of some creates, made one at a time. */
async function recordCreates(bench: BenchRegistry, creator: EvidenceCreator, recorder: Recorder) {
  const recorded: RecordedCreate[] = []
  const known = new Set<string>()
  for (let i = 0; i < RECORDED_CREATES; i++) {
    const { externalId } = evidenceOf(creator.count)
    const { name: category } = categoryOf(creator.count).category
    const recording: Recording = { gets: [], commits: [] }
    recorder.recording = recording
    const { id, txId } = await creator.createOne()
    recorder.recording = undefined
    // Only the first create in a category looks it up, and the loop does not.
    if (!known.has(category)) recording.gets.length = 0
    known.add(category)
    const commit = recording.commits.find(({ append }) => append !== undefined)
    if (commit === undefined) throw new Error('a create did not commit')
    recorded.push({
      gets: recording.gets,
      commit,
      uniqueParts: [encodeURIComponent(externalId), id, txId],
      hashed: await readHashedTexts(bench, externalId),
    })
  }
  return recorded
}

/** Returns every text that the hashes of the create event cover, with its tag and salt, from the event's disclosure. */
async function readHashedTexts(
  { registry, scope }: BenchRegistry,
  externalId: string,
): Promise<RecordedCreate['hashed']> {
  const page = await registry.evidences.get(scope, externalId, { disclose: true })
  const disclosure = page.events[0]?.disclosure
  if (disclosure === undefined) throw new Error('an event was not disclosed')
  const salted = [...Object.values(disclosure.fields).map(({ text }) => text), disclosure.filesText]
  const prefix = (bytes: number): Uint8Array => new Uint8Array(bytes).fill(7)
  return [
    ...salted.map((text) => ({ before: prefix(TAG_BYTES + SALT_BYTES), text })),
    { before: prefix(TAG_BYTES), text: disclosure.header },
    // The slot (tag, slotKey, version) and the opening.
    { before: prefix(TAG_BYTES + 32 + 8), text: '' },
    { before: prefix(OPENING_BYTES), text: '' },
  ]
}

/** Reads the records that the recorded creates read and did not write. */
async function readShared({ records }: BenchRegistry, recorded: readonly RecordedCreate[]) {
  const keys = new Set(recorded.flatMap(({ gets }) => gets.flat()))
  const entries = await records.get([...keys])
  return new Map(entries.filter((entry) => entry !== undefined).map(({ key, value }) => [key, value]))
}

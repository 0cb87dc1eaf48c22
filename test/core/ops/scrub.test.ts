import assert from 'node:assert/strict'
import { describe, it, type TestContext } from 'node:test'
import type { BlobStore, RecordStore } from '../../../core/index.ts'
import { Scrub, type ScrubState } from '../../../core/ops/index.ts'
import { RegistryError } from '../../../core/errors.ts'
import { logKeys } from '../../../core/log/keys.ts'
import { decorateRecords } from '../../../core/store/decorate.ts'
import { ManualClock } from '../../support/manual-clock.ts'
import { openFilledRegistry, type FilledRegistry } from '../../support/sealed-registry.ts'
import { entriesOf } from '../../support/whole-store.ts'
import { ofSuite } from '../../support/of-suite.ts'
import { present } from '../../support/present.ts'
import { withMethods } from '../../support/with-methods.ts'

const DAY_MS = 24 * 60 * 60 * 1_000

interface Running {
  readonly scrub: Scrub
  readonly clock: ManualClock
  /** `KIND KEY` of each error line. */
  readonly errors: string[]
  readonly warnings: string[]
  readonly saved: ScrubState[]
  /** Lets time pass until a pass is complete. */
  readonly completePass: () => Promise<void>
}

interface RunOptions {
  readonly records?: RecordStore
  readonly blobs?: BlobStore
  readonly bytesPerSecond?: number
  readonly state?: ScrubState
}

function run(
  t: TestContext,
  sealed: FilledRegistry,
  { bytesPerSecond = 1_000_000, ...options }: RunOptions = {},
): Running {
  const clock = new ManualClock()
  const [errors, warnings, saved]: [string[], string[], ScrubState[]] = [[], [], []]
  const scrub = new Scrub({
    records: sealed.records,
    blobs: sealed.blobs,
    origin: sealed.registry.log.origin,
    bytesPerSecond,
    intervalMs: DAY_MS,
    clock,
    logger: {
      debug() {},
      info() {},
      warn: (_, message) => void warnings.push(message),
      error: (fields) => void errors.push(`${Reflect.get(fields, 'kind')} ${Reflect.get(fields, 'key')}`),
    },
    save: async (state) => void saved.push(state),
    ...options,
  })
  t.after(() => scrub.close())
  const completePass = async (): Promise<void> => {
    const earlier = scrub.status().lastCompleteAt
    for (let i = 0; i < 10_000 && scrub.status().lastCompleteAt === earlier; i++) await clock.advance(1_000)
    assert.notEqual(scrub.status().lastCompleteAt, earlier, 'the pass did not end')
  }
  return { scrub, clock, errors, warnings, saved, completePass }
}

/** A store that returns another value for one key, as a damaged disk does. `at`: the byte that differs. */
function withDamaged(records: RecordStore, damagedKey: string, at = 40): RecordStore {
  const damage = <T extends { readonly key: string; readonly value: Uint8Array }>(entry: T): T =>
    entry.key === damagedKey ? { ...entry, value: entry.value.with(at, (entry.value.at(at) ?? 0) ^ 1) } : entry
  return decorateRecords(records, {
    get: async (wanted) => (await records.get(wanted)).map((entry) => entry && damage(entry)),
    async *list(range) {
      for await (const entry of records.list(range)) yield damage(entry)
    },
  })
}

describe('the scrub', () => {
  /** For tests that change nothing in the stores. */
  const intact = ofSuite(openFilledRegistry)

  it('reads all entries, records and files of an intact registry, and reports nothing', async (t) => {
    const { records } = intact()
    const { scrub, errors, completePass } = run(t, intact())
    await completePass()
    const count = (await entriesOf(records)).length
    const { checked, differences, readBytes } = scrub.status()
    assert.deepEqual(errors, [])
    assert.equal(differences, 0)
    assert.equal(checked.log, await records.logSize())
    assert.equal(checked.records, count)
    assert.equal(checked.blobs, 4)
    assert.ok(readBytes > count * 10)
  })

  it('reports another position of an evidence or an event, and an event with another txId', async (t) => {
    const { records } = intact()
    const stored = (await entriesOf(records)).filter(({ key }) => /^(ev|vh)\//.test(key))
    const damages: (readonly [string, number])[] = stored.map(({ key }) => [key, -1])
    for (const { key, value } of stored) {
      const at = Buffer.from(value).indexOf('"owner":"Grace"')
      if (key.startsWith('vh/') && at >= 0) damages.push([key, at + '"owner":"'.length])
    }
    assert.ok(stored.length > 3 && damages.length > stored.length)
    for (const [key, at] of damages) {
      const { errors, completePass } = run(t, intact(), { records: withDamaged(records, key, at) })
      await completePass()
      assert.ok(
        errors.some((error) => error.endsWith(key)),
        `${key} ${at}: ${errors.join()}`,
      )
    }
  })

  it('checks the files of the record store first, after each start and in each pass', async (t) => {
    const fileChecker = {
      async *checkFiles() {
        yield { file: '000005.ldb', bytes: 1_000_000 }
        yield { file: '000007.ldb', bytes: 1_000_000, damagedAt: 4_096 }
      },
    }
    const startedAt = new ManualClock().now() + DAY_MS
    const state = { position: 'log/0', startedAt, differences: 0, lastPass: null }
    const { scrub, clock, errors, completePass } = run(t, intact(), {
      records: decorateRecords(intact().records, { fileChecker }),
      state,
    })
    await clock.advance(60_500)
    assert.equal(scrub.status().readBytes, 1_000_000, 'at its pace')
    await clock.advance(2_000)
    assert.deepEqual(errors, ['store file 000007.ldb'])
    assert.equal(scrub.status().differences, 1)
    assert.equal(scrub.status().checked.log, 0)
    await clock.advance(DAY_MS - 63_000)
    await completePass()
    await clock.advance(10_000)
    assert.deepEqual(errors, ['store file 000007.ldb'], 'not twice for one pass')
    await clock.advance(DAY_MS)
    assert.deepEqual(errors, ['store file 000007.ldb', 'store file 000007.ldb'])
    assert.equal(scrub.status().differences, 1)
  })

  it('reports damaged bytes of a file, and a missing file', async (t) => {
    const sealed = await openFilledRegistry(t)
    const { filled } = sealed
    const size = (await sealed.blobs.get(filled.keptFile))?.size ?? 0
    await sealed.blobs.delete(filled.keptFile)
    await sealed.blobs.delete(filled.billFile)
    const zeros = async function* (): AsyncGenerator<Uint8Array> {
      yield new Uint8Array(size)
    }
    const blobs = withMethods(sealed.blobs, {
      get: async (key, range) => (key === filled.keptFile ? { size, body: zeros() } : sealed.blobs.get(key, range)),
    })
    const { scrub, errors, completePass } = run(t, sealed, { blobs })
    await completePass()
    for (const expected of [`blob blob/${filled.keptFile}`, `blob blob/${filled.billFile}`])
      assert.ok(errors.includes(expected), `${expected} in ${errors.join(', ')}`)
    assert.equal(scrub.status().differences, errors.length)
  })

  it('reports damage in a full tile of leaves, and in one above', async (t) => {
    const sealed = await openFilledRegistry(t)
    const { registry, scope, records } = sealed
    const [category] = await registry.categories.list(scope)
    assert.ok(category !== undefined)
    const evidences = Array.from({ length: 600 }, (_, i) => ({ externalId: `bulk ${i}`, name: 'Bulk' }))
    const subcategoryId = category.subcategories[0]?.id ?? ''
    await registry.evidences.createMany(scope, { categoryId: category.id, subcategoryId, evidences })
    await registry.sealNow()
    for (const [key, expected] of [
      [logKeys.tile(0, 1), `tile ${logKeys.tile(0, 1)}`],
      [logKeys.tile(1, 0), 'tile log/0'],
    ] as const) {
      const { errors, completePass } = run(t, sealed, { records: withDamaged(records, key) })
      await completePass()
      assert.ok(errors.includes(expected), errors.join(', '))
    }
  })

  it('reports nothing that is right when it is read again', async (t) => {
    const { filled } = intact()
    let missing = 1
    const blobs = withMethods(intact().blobs, {
      get: async (key, range) =>
        key === filled.keptFile && missing-- > 0 ? undefined : intact().blobs.get(key, range),
    })
    const { errors, completePass } = run(t, intact(), { blobs })
    await completePass()
    assert.equal(missing < 1, true)
    assert.deepEqual(errors, [])
  })

  it('waits no longer than its interval for the next pass if the clock was ahead', async (t) => {
    const { saved, completePass } = run(t, intact())
    await completePass()
    const { startedAt, ...state } = present(saved.at(-1))
    const later = run(t, intact(), { state: { ...state, startedAt: startedAt + 30 * DAY_MS } })
    await later.clock.advance(DAY_MS)
    await later.completePass()
  })

  it('tries again if the store cannot be reached, and counts it', async (t) => {
    let failing = 2
    const records = decorateRecords(intact().records, {
      async readLog(from, count) {
        if (failing-- > 0) throw new RegistryError('UNAVAILABLE', 'the store is away')
        return intact().records.readLog(from, count)
      },
    })
    const { scrub, errors, warnings, completePass } = run(t, intact(), { records })
    await completePass()
    assert.deepEqual(errors, [])
    assert.equal(warnings.length, 2)
    assert.equal(scrub.status().failures, 2)
  })

  it('does not call files damaged while their store cannot be reached', async (t) => {
    let failing = 5
    const blobs = withMethods(intact().blobs, {
      async get(key, range) {
        if (failing-- > 0) throw new RegistryError('UNAVAILABLE', 'the bucket is away')
        return intact().blobs.get(key, range)
      },
    })
    const { scrub, errors, completePass } = run(t, intact(), { blobs })
    await completePass()
    assert.deepEqual(errors, [])
    const { failures, checked } = scrub.status()
    assert.deepEqual([failures, checked.blobs], [5, 4])
  })

  it('reports a file that the disk cannot read, and goes on', async (t) => {
    const { filled } = intact()
    const cause = Object.assign(new Error('EIO: i/o error, read'), { code: 'EIO' })
    const blobs = withMethods(intact().blobs, {
      async get(key, range) {
        if (key === filled.keptFile) throw new RegistryError('UNAVAILABLE', 'Blob could not be read', { cause })
        return intact().blobs.get(key, range)
      },
    })
    const { scrub, errors, completePass } = run(t, intact(), { blobs })
    await completePass()
    assert.deepEqual(errors, [`blob blob/${filled.keptFile}`])
    const { failures, checked } = scrub.status()
    assert.deepEqual([failures, checked.blobs], [0, 4])
  })

  it('goes on behind a part of the log that cannot be read', async (t) => {
    const records = decorateRecords(intact().records, {
      readLog: async () => {
        throw new RegistryError('CORRUPT', 'the row is damaged')
      },
    })
    const { scrub, errors, completePass } = run(t, intact(), { records })
    await completePass()
    assert.deepEqual(errors, ['entry log/0'])
    const { checked } = scrub.status()
    assert.ok(checked.log === 0 && checked.records > 0 && checked.blobs === 4)
  })

  it('holds no iterator while it pauses, and reads at the set pace', async (t) => {
    let open = 0
    const records = decorateRecords(intact().records, {
      async *list(range) {
        open += 1
        try {
          yield* intact().records.list(range)
        } finally {
          open -= 1
        }
      },
    })
    const bytesPerSecond = 20_000
    const { scrub, clock } = run(t, intact(), { records, bytesPerSecond })
    let seconds = 0
    while (scrub.status().lastCompleteAt === null) {
      await clock.advance(1_000)
      seconds += 1
      assert.equal(open, 0)
      assert.ok(seconds < 10_000)
    }
    const { readBytes } = scrub.status()
    assert.ok(seconds - 60 >= Math.floor(readBytes / bytesPerSecond) - 1, `${readBytes} bytes in ${seconds} s`)
  })

  it('waits for the interval after a pass, then reads everything again', async (t) => {
    const { scrub, clock, completePass } = run(t, intact())
    await completePass()
    const { readBytes } = scrub.status()
    await clock.advance(DAY_MS / 2)
    assert.equal(scrub.status().readBytes, readBytes)
    await clock.advance(DAY_MS)
    assert.ok(scrub.status().readBytes > readBytes)
  })

  it('stores its position when it closes, continues there, and reads nothing after it is closed', async (t) => {
    const first = run(t, intact(), { bytesPerSecond: 1_000 })
    while (first.scrub.status().checked.log === 0) await first.clock.advance(1_000)
    await first.scrub.close()
    const state = first.saved.at(-1)
    assert.equal(state?.position, 'log/256')
    const { readBytes } = first.scrub.status()
    await first.clock.advance(DAY_MS)
    assert.equal(first.scrub.status().readBytes, readBytes)
    const second = run(t, intact(), { state })
    await second.completePass()
    assert.equal(second.scrub.status().checked.log, 0)
    assert.ok(second.scrub.status().checked.records > 0)
  })
})

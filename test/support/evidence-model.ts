import assert from 'node:assert/strict'
import fc from 'fast-check'
import { MemoryCheckpointKeys, MemoryBlobs, MemorySignedHead } from '../../adapters/memory/index.ts'
import {
  isRegistryError,
  openRegistry,
  OPERATOR,
  type EvidenceQuery,
  type RecordStore,
  type Registry,
} from '../../core/index.ts'
import { fsck } from '../../core/ops/index.ts'
import { createSealer, InlineEngine } from '../../sealer/index.ts'
import { faultyRecords, type CommitFault } from './faulty-records.ts'
import { ManualClock } from './manual-clock.ts'
import { arrayOf } from './array-of.ts'

/** Random changes of evidences, random queries, and a slow reference that says what the queries return. */

/** What the reference knows of an evidence. */
interface ModelEvidence {
  readonly id: string
  readonly externalId: string
  readonly companyId: string
  readonly category: string
  readonly subcategory: string
  readonly createdAt: number
  name: string
  owner: string
  stolen: boolean
  updatedAt: number
}

const COMPANIES = ['acme', 'acme.2'] as const
const CATEGORIES = ['A', 'B'] as const
const SUBCATEGORIES = ['S', 'T', 'U'] as const
/** Beginnings of external ids: some are beginnings of others, contain separators of keys, or are very long in a key. */
const BEGINNINGS = ['a', 'ab', 'A', 'a/b', 'a%', 'a~', 'é', '.', 'Ünicode', '\u{1F600}'.repeat(120), 'x'.repeat(120)]
const OWNERS = ['Ada', 'ADA', 'ada', 'Straße', 'STRASSE', 'Ad', 'Ada/x', '\u{1F600}'.repeat(256), 'ΟΔΟΣ', 'οδος']
/** Also one with more words than are indexed, one in other forms of the same letters, and one longer than a word. */
const NAMES = [
  'x',
  'Golf GTI',
  'golfer-7',
  'Ｇｏｌｆ ﬁn',
  'a b c d e f g h i j k l m n',
  'y'.repeat(200),
  '\u{10400}'.repeat(33),
]
const WORDS = [
  'golf',
  'GOLF gti',
  'go 7',
  'fin',
  'l',
  'm',
  'ünicode',
  'a',
  'ada go',
  'ab strasse',
  'y'.repeat(64),
  'none',
]

const index = fc.nat(40)
const change = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('create' as const),
      company: fc.constantFrom(...COMPANIES),
      category: fc.constantFrom(...CATEGORIES),
      subcategory: fc.constantFrom(...SUBCATEGORIES),
      beginning: fc.constantFrom(...BEGINNINGS),
      name: fc.constantFrom(...NAMES),
      owner: fc.constantFrom('', ...OWNERS),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant('transfer' as const), index, owner: fc.constantFrom('', ...OWNERS) }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('steal' as const), index, stolen: fc.boolean() }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('describe' as const), index }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('rename' as const), index, name: fc.constantFrom(...NAMES) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('file' as const), index }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('wait' as const), ms: fc.integer({ min: 0, max: 5 }) }) },
)
type Change = typeof change extends fc.Arbitrary<infer T> ? T : never

const query = fc.record(
  {
    category: fc.constantFrom(...CATEGORIES),
    subcategory: fc.constantFrom(...SUBCATEGORIES),
    externalIdPrefix: fc.constantFrom(...BEGINNINGS, '\u{1F600}', 'x'.repeat(60), 'none'),
    words: fc.constantFrom(...WORDS, '\u{10428}'.repeat(40)),
    owner: fc.constantFrom(...OWNERS, 'Eve'),
    status: fc.constantFrom('active' as const, 'stolen' as const),
    from: fc.integer({ min: -1, max: 30 }),
    to: fc.integer({ min: -1, max: 60 }),
    sort: fc.constant('updated' as const),
    limit: fc.integer({ min: 1, max: 7 }),
  },
  { requiredKeys: ['limit'] },
)
type ModelQuery = typeof query extends fc.Arbitrary<infer T> ? T : never

/** Lists that are not searched for in an index, which random queries seldom are. */
const PLAIN: readonly ModelQuery[] = [
  { limit: 3 },
  { category: 'A', limit: 2 },
  { category: 'B', limit: 7 },
  { subcategory: 'T', limit: 1 },
  { category: 'B', subcategory: 'U', limit: 5 },
]

/** A sequence of changes with a fault between them, and the queries that are asked afterwards. */
export const scenario = fc.record({
  changes: fc.array(change, { minLength: 5, maxLength: 40 }),
  fault: fc.record({
    commit: fc.integer({ min: 1, max: 40 }),
    when: fc.constantFrom('before' as const, 'after' as const),
  }),
  queries: fc.array(query, { minLength: 8, maxLength: 16 }),
})
type Scenario = typeof scenario extends fc.Arbitrary<infer T> ? T : never

const START = Date.UTC(2026, 0, 1)

/** Makes the changes, compares the result of every query with the reference, and checks the store with fsck. */
export async function checkScenario(records: RecordStore, { changes, fault, queries }: Scenario): Promise<void> {
  const faulty = faultyRecords(records)
  const model = await Model.open(faulty)
  try {
    faulty.failCommit(fault.commit, fault.when satisfies CommitFault)
    for (const each of changes) await model.apply(each)
    for (const each of [...PLAIN, ...queries]) for (const companyId of COMPANIES) await model.compare(companyId, each)
    const { differences } = await fsck({ records }, { onDifference: (difference) => assert.fail(difference.message) })
    assert.equal(differences, 0)
  } finally {
    await model.registry.close()
  }
}

class Model {
  readonly registry: Registry
  readonly #clock: ManualClock
  readonly #evidences: ModelEvidence[] = []
  readonly #ids = new Map<string, string>()
  #created = 0

  private constructor(registry: Registry, clock: ManualClock) {
    this.registry = registry
    this.#clock = clock
  }

  static async open(records: RecordStore): Promise<Model> {
    const clock = new ManualClock(START)
    const registry = await openRegistry({
      records,
      blobs: new MemoryBlobs(),
      signedHead: new MemorySignedHead(),
      secret: new Uint8Array(32).fill(7),
      checkpointSigner: new MemoryCheckpointKeys(),
      clock,
      sealer: createSealer({ engine: new InlineEngine(), maxWaitMs: 1e12, pollIntervalMs: 1e12 }),
    })
    const model = new Model(registry, clock)
    for (const companyId of COMPANIES) await model.#createCategories(companyId)
    return model
  }

  async #createCategories(companyId: string): Promise<void> {
    const { categories, sourceSystems } = this.registry
    await sourceSystems.create(scopeOf(companyId), { name: 'first' })
    for (const name of CATEGORIES) {
      const { id } = await categories.create(scopeOf(companyId), { name })
      this.#ids.set([companyId, name].join('/'), id)
      for (const sub of SUBCATEGORIES)
        this.#ids.set(
          [companyId, name, sub].join('/'),
          (await categories.create(scopeOf(companyId), { name: sub }, { parent: id })).id,
        )
    }
  }

  async apply(next: Change): Promise<void> {
    if (next.kind === 'wait') return this.#clock.advance(next.ms)
    try {
      await (next.kind === 'create' ? this.#create(next) : this.#update(next))
    } catch (error) {
      // The injected fault, which was applied or not, and updates that change nothing.
      const codes = ['UNAVAILABLE', 'UNKNOWN_OUTCOME', 'VALIDATION_ERROR']
      if (!isRegistryError(error) || !codes.includes(error.code)) throw error
      await this.#readAgain()
    }
  }

  async #create({ company, category, subcategory, beginning, name, owner }: Extract<Change, { kind: 'create' }>) {
    const externalId = `${beginning}${this.#created++}`
    const createdAt = this.#clock.now()
    const common = { externalId, companyId: company, category, subcategory, createdAt }
    this.#evidences.push({ ...common, id: '', name, owner, stolen: false, updatedAt: createdAt })
    const { id } = await this.registry.evidences.create(scopeOf(company), {
      externalId,
      name,
      ...(owner !== '' && { owner }),
      category: { name: category },
      subcategory: { name: subcategory },
    })
    this.#evidences.push({ ...this.#evidences.pop()!, id })
  }

  async #update(next: Exclude<Change, { kind: 'create' | 'wait' }>): Promise<void> {
    const evidence = this.#evidences[next.index]
    if (evidence === undefined) return
    const { evidences, files } = this.registry
    const [scope, { externalId }] = [scopeOf(evidence.companyId), evidence]
    if (next.kind === 'transfer') {
      const { owner } = next
      await evidences.update(scope, externalId, owner === '' ? { clear: ['owner'] } : { owner })
      evidence.owner = owner
    } else if (next.kind === 'steal') {
      await evidences.update(scope, externalId, { updateType: 'stolen', stolen: next.stolen })
      evidence.stolen = next.stolen
    } else if (next.kind === 'rename') {
      await evidences.update(scope, externalId, { name: next.name })
      evidence.name = next.name
    } else if (next.kind === 'describe') {
      await evidences.update(scope, externalId, { updateType: 'custom' })
    } else {
      const body = new Blob(['content']).stream()
      const file = await files.stage(scope, { name: 'a.txt', mimeType: 'text/plain', body }, { maxBytes: 100 })
      await evidences.update(scope, externalId, { files: [file] })
      evidence.updatedAt = this.#clock.now()
      await this.#clock.advance(1)
      await files.delete(scope, { fileId: file.id })
    }
    evidence.updatedAt = this.#clock.now()
  }

  /** Sets the reference to what the registry says of each evidence by itself, after an unknown outcome. */
  async #readAgain(): Promise<void> {
    for (const [i, old] of [...this.#evidences.entries()].reverse()) {
      const page = await this.registry.evidences
        .get(scopeOf(old.companyId), old.externalId, { limit: 500 })
        .catch(() => undefined)
      if (page === undefined) {
        this.#evidences.splice(i, 1)
        continue
      }
      const { id, name, owner = '', status } = page.evidence
      const updatedAt = page.events.at(-1)!.recordedAt.getTime()
      this.#evidences[i] = { ...old, id, name, owner, stolen: status === 'stolen', updatedAt }
    }
  }

  /** Reads all pages, and the whole list, and compares both with the reference. */
  async compare(companyId: string, asked: ModelQuery): Promise<void> {
    const request = this.#requestOf(companyId, asked)
    const expected = this.#expected(companyId, asked)
    const pages: string[] = []
    let position: Pick<EvidenceQuery, 'after' | 'cursor'> | undefined = {}
    while (position !== undefined) {
      const page = await this.registry.evidences.list(scopeOf(companyId), { ...request, ...position })
      assert.equal(page.count, expected.length, JSON.stringify(asked))
      assert.equal(page.countIsMore, false)
      assert.equal(page.hasMore, page.items.length === asked.limit && pages.length + asked.limit < expected.length)
      pages.push(...page.items.map(({ externalId }) => externalId))
      const after = page.items.at(-1)?.id
      position = page.next ? { cursor: page.next } : page.hasMore && after ? { after } : undefined
    }
    assert.deepEqual(pages, expected, JSON.stringify(asked))
    const all = await arrayOf(this.registry.evidences.all(scopeOf(companyId), request))
    const ids = all.map(({ externalId }) => externalId)
    assert.deepEqual(ids, expected)
  }

  #requestOf(companyId: string, { category, subcategory, from, to, ...same }: ModelQuery): EvidenceQuery {
    return {
      ...same,
      ...(category !== undefined && { categoryId: this.#idOf(companyId, category) }),
      ...(subcategory !== undefined && { subcategoryId: this.#idOf(companyId, category ?? 'A', subcategory) }),
      ...(from !== undefined && { createdFrom: new Date(START + from) }),
      ...(to !== undefined && { createdTo: new Date(START + to) }),
    }
  }

  #idOf = (...path: readonly string[]): string => this.#ids.get(path.join('/')) ?? 'unknown'

  #expected(companyId: string, asked: ModelQuery): readonly string[] {
    const { category, subcategory, externalIdPrefix, words, owner, status, from, to, sort } = asked
    const inCategory = subcategory === undefined ? category : (category ?? 'A')
    const matches = this.#evidences.filter(
      (each) =>
        each.companyId === companyId &&
        (inCategory === undefined || each.category === inCategory) &&
        (subcategory === undefined || each.subcategory === subcategory) &&
        (externalIdPrefix === undefined || each.externalId.startsWith(externalIdPrefix)) &&
        (words === undefined || foundBy(each, words)) &&
        (owner === undefined || (each.owner !== '' && fold(each.owner) === fold(owner))) &&
        (status === undefined || each.stolen === (status === 'stolen')) &&
        (from === undefined || each.createdAt >= START + from) &&
        (to === undefined || each.createdAt < START + to),
    )
    const byId = (a: ModelEvidence, b: ModelEvidence): number => (a.id < b.id ? 1 : -1)
    return matches
      .sort((a, b) => (sort === 'updated' && a.updatedAt !== b.updatedAt ? b.updatedAt - a.updatedAt : byId(a, b)))
      .map(({ externalId }) => externalId)
  }
}

const fold = (text: string): string => text.toLowerCase().replaceAll('ß', 'ss').replaceAll('ς', 'σ')

function foundBy({ name, externalId, owner }: ModelEvidence, words: string): boolean {
  const split = (text: string): string[] =>
    Array.from(fold(text.normalize('NFKC')))
      .map((character) => (/\p{L}|\p{Nd}/u.test(character) ? character : ' '))
      .join('')
      .split(' ')
      .filter((word) => word !== '')
      .map((word) => Array.from(word).slice(0, 32).join(''))
  const indexed = [...new Set([name, externalId, owner].flatMap(split))].slice(0, 12)
  return split(words).every((word) => indexed.some((each) => each.startsWith(word)))
}

const scopeOf = (companyId: string) => ({ companyId, principal: OPERATOR })

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { after, before, describe, it } from 'node:test'
import type { Bundle } from '../../../core/index.ts'
import { createNoteSigner } from '../../../core/log/note.ts'
import { keys } from '../../../core/store/keys.ts'
import { ExportVerifier, verifyBundle, type ExportResult, type Policy } from '../../../core/verify/index.ts'
import { tokens } from '../../../core/verify/tokens.ts'
import { openBundleRegistry, type BundleRegistry } from '../../support/bundle-fixture.ts'
import { temporaryOfSuite } from '../../support/temporary.ts'

const COUNT = 4
const EMPTY = 'It has no evidence, so nothing in it is signed'

const sha256 = (lines: readonly string[]): string =>
  createHash('sha256')
    .update(lines.map((line) => `${line}\n`).join(''))
    .digest('hex')

describe('an export', () => {
  const directory = temporaryOfSuite()
  let registry: BundleRegistry
  let policy: Policy
  /** Of `COUNT` evidences that are sealed, stamped and anchored. */
  let lines: readonly string[]
  before(async () => {
    registry = await openBundleRegistry({ directory, anchor: 'evm' })
    for (let i = 1; i <= COUNT; i++) {
      await registry.evidence({ externalId: `e-${i}`, owner: 'Ada', files: [await registry.stage('text', 'a.txt')] })
      await registry.settle()
    }
    await registry.registry.evidences.update(registry.scope, 'e-2', { owner: 'Grace', summary: 'a\u2028b' })
    await registry.settle()
    policy = await registry.policy()
    lines = await exported()
  })
  after(async () => {
    await registry.close()
  })

  async function exported(): Promise<readonly string[]> {
    let text = ''
    for await (const part of registry.registry.proofs.exportCompany(registry.scope)) text += part
    return text.split('\n').slice(0, -1)
  }
  const verify = (shown: readonly string[], options: ConstructorParameters<typeof ExportVerifier>[0] = { policy }) => {
    const verifier = new ExportVerifier({ tokens, ...options })
    for (const line of shown) verifier.add(line)
    return verifier.end(sha256(shown.slice(0, -1)))
  }
  /** The last line with the hash of other lines. */
  const rehashed = (shown: readonly string[], end = lines.at(-1) ?? ''): readonly string[] => [
    ...shown,
    JSON.stringify({ ...(JSON.parse(end) as object), sha256: sha256(shown) }),
  ]
  const rulesOf = ({ findings }: ExportResult): readonly (string | undefined)[] => findings.map(({ rule }) => rule)
  const bundleIn = (line = ''): Bundle => (JSON.parse(line) as { readonly bundle: Bundle }).bundle

  it('is every evidence in the order of the ids, each as its own bundle', async () => {
    const [first = '', ...others] = lines
    const { exportedAt, ...head } = JSON.parse(first) as Record<string, unknown>
    const { origin } = registry.registry.log
    const counts = { evidences: COUNT }
    const { sealedSize: treeSize } = registry.registry.status()
    assert.deepEqual(head, {
      format: 'evidence-registry.export',
      version: 1,
      company: 'acme',
      origin,
      treeSize,
      counts,
    })
    assert.equal(new Date(String(exportedAt)).toISOString(), exportedAt)
    for (const [i, line] of others.slice(0, -1).entries())
      assert.deepEqual(bundleIn(line), await registry.history('all', 'all', `e-${i + 1}`))
    assert.deepEqual(JSON.parse(others.at(-1) ?? ''), {
      end: true,
      counts: { evidences: COUNT, events: COUNT + 2, unsealed: 0, withoutBundle: 0 },
      sha256: sha256(lines.slice(0, -1)),
    })
    assert.ok(!lines.join('').includes('"slotKey":{'), 'slot keys are not disclosed')
  })

  it('is proven under a policy, and else consistent', () => {
    const { state, sealedEvents, notLaterThan, found, head } = verify(lines)
    assert.deepEqual([state, sealedEvents, found, head?.company], ['proven', COUNT + 2, 0, 'acme'])
    const times = lines.slice(1, -1).flatMap((line) => {
      const result = verifyBundle(JSON.stringify(bundleIn(line)), { policy, tokens })
      return 'claims' in result ? result.claims.events.map((event) => event.notLaterThan ?? Infinity) : []
    })
    assert.equal(notLaterThan, Math.max(...times))
    assert.equal(verify(lines, {}).state, 'consistent')
    assert.equal(verify(lines, { policy, require: ['anchor'] }).state, 'requirement')
    const vkey = createNoteSigner('another/log', new Uint8Array(32)).verifierKey
    assert.equal(verify(lines, { policy: { ...policy, keys: [{ vkey }] } }).state, 'other-log')
  })

  it('shows a line that is missing, twice, in another place or added', () => {
    const [head = '', a = '', b = '', c = '', d = '', end = ''] = lines
    const cases: readonly (readonly [string, readonly string[], readonly string[]])[] = [
      ['missing', [head, a, c, d, end], ['export.order', 'export.count']],
      ['missing at the end', rehashed([head, a, b, c]), ['export.count']],
      ['twice', [head, a, b, b, c, d, end], ['export.order', 'export.count']],
      ['swapped', rehashed([head, b, a, c, d]), ['export.order', 'export.order']],
      ['in place of another', rehashed([head, a, b, a.replace('"n":1', '"n":3'), d]), ['export.order', 'export.order']],
      [
        'changed',
        [head.replace('acme', 'acm3'), a, b, c, d, end],
        [...Array<string>(COUNT).fill('export.subject'), 'export.changed'],
      ],
      ['after the end', [...lines, a], ['export.order', 'export.changed']],
    ]
    for (const [name, shown, rules] of cases) {
      const result = verify(shown)
      assert.equal(result.state, 'refuted', name)
      assert.deepEqual(rulesOf(result), rules, name)
    }
    assert.equal(verify(rehashed(lines.slice(0, -1))).state, 'proven')
  })

  it('is incomplete without its last line, and not readable without its first one', () => {
    const [head = '', a = '', b = '', c = '', d = ''] = lines
    const reasonsOf = ({ state, findings }: ExportResult) => [state, ...findings.map(({ reason }) => reason)]
    for (const [shown, count] of [
      [[head, a, b, c, d], COUNT],
      [[head, a, b, c, d.slice(0, 2_000)], COUNT - 1],
      [[head, a, ''], 1],
    ] as const)
      assert.deepEqual(reasonsOf(verify(shown)), [
        'incomplete',
        `${count} of ${COUNT} evidences, all that are there hold`,
      ])
    assert.equal(verify([head, a.replace('Ada', 'Eve'), b]).state, 'refuted')
    for (const [shown, rule] of [
      [[a, b, c, d], 'document.format'],
      [[JSON.stringify(bundleIn(a))], 'document.format'],
      [JSON.stringify(JSON.parse(head), null, 2).split('\n'), 'form.json'],
      [[head.replace('"version":1', '"version":2'), a, b], 'document.newer'],
      [[head.replace('"version":1', '"version":1,"more":1'), a, b], 'document.newer'],
    ] as const) {
      const result = verify(shown)
      assert.deepEqual([result.state, result.head, ...rulesOf(result)], ['unreadable', undefined, rule])
    }
  })

  it('is not refuted because of lines that cannot be read, and stops after 100 of them', () => {
    const [head = '', a = '', b = '', c = '', ...others] = lines
    for (const [wrong, rule] of [
      ['{"n":2', 'form.json'],
      [b.replace('"version":1', '"version":2'), 'document.newer'],
      [b.replace(/\}$/, ',"more":1}'), 'document.newer'],
      [b.replace('"n":2', '"n":"2"'), 'form.value'],
      [b.replace('"inclusion":', '"_id":1,"inclusion":'), 'form.members'],
      [b.replace('"consistency":', '"keyConsistency":null,"consistency":'), 'form.value'],
    ] as const) {
      const result = verify([head, a, wrong, c, ...others])
      assert.deepEqual([result.state, ...rulesOf(result)], ['unreadable', rule], rule)
    }
    // Some programs leave out a 0.
    const end = others.at(-1) ?? ''
    const counted = verify([head, a, b, c, ...others.slice(0, -1), end.replace('"unsealed":0,', '')])
    assert.deepEqual([counted.state, ...rulesOf(counted)], ['unreadable', 'form.value'])
    const { state, found, stoppedAt } = verify([head, ...Array<string>(500).fill('x'), a])
    assert.deepEqual([state, found, stoppedAt], ['unreadable', 100, 102])
    assert.equal(verify([head, ...Array<string>(500).fill('{}'), a]).found, 100)
  })

  it('keeps what it found if a line is not UTF-8 or longer than any bundle', () => {
    const [head = '', a = '', b = '', ...others] = lines
    const latin = Buffer.from(a.replace('Ada', 'Ad\u00e4'), 'latin1')
    const cut = Buffer.from(a.replace('Ada', 'Ad\u00e4')).subarray(0, a.indexOf('Ada') + 3)
    const long = new Uint8Array(ExportVerifier.MAX_LINE_BYTES + 1)
    const stateOf = (...shown: readonly (string | Uint8Array)[]): string => {
      const verifier = new ExportVerifier({ tokens, policy })
      for (const line of shown) verifier.add(line)
      return verifier.end('').state
    }
    for (const line of [latin, long]) {
      assert.equal(stateOf(head, line, b, ...others), 'unreadable')
      assert.equal(stateOf(head, a.replace('Ada', 'Eve'), line, ...others), 'refuted')
      assert.equal(stateOf(line, a, b, ...others), 'unreadable')
    }
    assert.equal(stateOf(head, cut), 'incomplete')
    assert.equal(stateOf(...[...lines.slice(0, -1), ''].map((line) => Buffer.from(line))), 'incomplete')
  })

  it('is changed if another program wrote it again, and no line contradicts', () => {
    const spaced = lines.map((line) => JSON.stringify(JSON.parse(line), null, 1).replaceAll('\n', ' '))
    const reordered = lines.map((line) =>
      JSON.stringify(Object.fromEntries(Object.entries(JSON.parse(line) as object).toReversed())),
    )
    const [head = '', ...others] = lines
    for (const shown of [spaced, reordered, [head, '', ...others]]) {
      const result = verify(shown)
      assert.deepEqual([result.state, ...rulesOf(result)], ['changed', 'export.changed'])
      assert.equal(result.sealedEvents, COUNT + 2)
    }
    assert.equal(verify(spaced.map((line) => line.replace('Grace', 'Greta'))).state, 'refuted')
    for (const junk of ['\t', '\u001a', '\0'])
      assert.deepEqual(rulesOf(verify([...lines, junk])), ['export.changed'], JSON.stringify(junk))
    assert.deepEqual(rulesOf(verify([...lines, 'Kind regards', 'Ada'])), ['form.json'])
  })

  it('names a bundle that is refuted, and one of another tree that the log signed', async (t) => {
    const changed = lines.map((line, i) => (i === 2 ? line.replace('Grace', 'Greta') : line))
    assert.deepEqual(rulesOf(verify(rehashed(changed.slice(0, -1)))), ['event.text-differs'])
    const fork = await openBundleRegistry({ directory: `${directory}/fork`, anchor: 'none' })
    t.after(() => fork.close())
    for (const externalId of ['e-1', 'e-2']) await fork.evidence({ externalId }).then(fork.settle)
    const other = `{"n":${COUNT + 1},"bundle":${JSON.stringify(await fork.history())}}`
    const forked = verify([...lines.slice(0, -1), other], { policy: { ...policy, authorities: [] } })
    assert.deepEqual(rulesOf(forked), ['log.forked', 'export.cut-off'])
  })

  it('is not proven without an evidence, or of another log', () => {
    const [head = ''] = lines
    const emptyOf = (origin: string): readonly string[] => {
      const counts = { evidences: 0 }
      const first = JSON.stringify({ ...(JSON.parse(head) as object), origin, company: 'bank', counts })
      const end = JSON.stringify({ end: true, counts: { evidences: 0, events: 0, unsealed: 0, withoutBundle: 0 } })
      return rehashed([first], end)
    }
    const { origin } = registry.registry.log
    for (const options of [{ policy }, {}]) {
      const { state, findings } = verify(emptyOf(origin), options)
      assert.deepEqual([state, ...findings.map(({ reason }) => reason)], ['requirement', EMPTY])
    }
    const other = verify(emptyOf('another/log'))
    assert.deepEqual([other.state, ...rulesOf(other)], ['other-log', 'keys.not-pinned', undefined])
  })

  it('names what is not sealed, and what has no bundle', async () => {
    const { externalId } = { externalId: 'e-new' }
    await registry.evidence({ externalId })
    const pending = verify(await exported())
    assert.deepEqual(
      [pending.state, pending.counts.unsealed, pending.notLaterThan],
      ['pending', 1, verify(lines).notLaterThan],
    )
    assert.deepEqual(pending.findings, [
      { line: COUNT + 2, state: 'pending', reason: 'e-new has an event that is not sealed yet', rule: undefined },
    ])
    await registry.settle()
    const { records } = registry.stores
    const { id } = (await registry.registry.evidences.get(registry.scope, externalId)).evidence
    const key = keys.evidence(registry.scope.companyId, id)
    const [stored] = await records.get([key])
    await records.commit({ writes: [{ key, value: Buffer.from('[]') }] })
    const gap = verify(await exported())
    assert.deepEqual([gap.state, gap.counts.evidences, gap.counts.withoutBundle], ['requirement', COUNT + 1, 1])
    const reasons = gap.findings.map(({ reason }) => reason)
    assert.deepEqual(reasons, ['There is no bundle of : CORRUPT'])
    await records.commit({ writes: [{ key, value: stored?.value ?? null }] })
    assert.equal(verify(await exported()).state, 'proven')
  })
})

import assert from 'node:assert/strict'
import type { Bundle } from '../../core/schemas/bundle.ts'
import { verifyBundle, type Policy } from '../../core/verify/index.ts'
import { tokens } from '../../core/verify/tokens.ts'
import { factsOf } from './bundle-facts.ts'
import { openBundleRegistry, type BundleRegistryOptions } from './bundle-fixture.ts'
import { mutate, randomFrom } from './bundle-mutations.ts'
import { rememberingTokens } from './remembering-tokens.ts'

/** Which bundles are mutated. Each kind has all documents: histories, evidences, files, deleted files, rotated keys. */
export const KINDS = {
  'no anchor': { anchor: 'none', authorities: [] },
  'local ledger': { anchor: 'local', authorities: [] },
  'EVM chain': { anchor: 'evm', authorities: [] },
  tokens: { anchor: 'local', authorities: [{ name: 'a' }, { name: 'b' }, { name: 'c' }], quorum: 2 },
} as const satisfies Readonly<Record<string, Omit<BundleRegistryOptions, 'directory'>>>
export type MutationKind = keyof typeof KINDS

/** Which part of the mutations is of each kind. Those with tokens take the most time. */
export const SHARES: Readonly<Record<MutationKind, number>> = {
  'no anchor': 0.4,
  'local ledger': 0.36,
  'EVM chain': 0.14,
  tokens: 0.1,
}

interface Subject {
  readonly bundles: readonly Bundle[]
  readonly policy: Policy
}

/** Bundles of every kind, of one registry with two checkpoint keys. */
async function makeBundles(options: BundleRegistryOptions): Promise<Subject> {
  const registry = await openBundleRegistry(options)
  const { evidence, stage, scope, settle } = registry
  await evidence({ owner: 'Ada', files: [await stage('first'), await stage('second')] })
  await evidence({ externalId: 'e-2' })
  await settle()
  await registry.rotate()
  await registry.registry.evidences.update(scope, 'e-1', { owner: 'Grace', meta: { a: [1] } })
  const [file, other] = (await registry.registry.evidences.files(scope, 'e-1')).evidence
  await registry.registry.files.delete(scope, { fileId: other?.id ?? '' })
  await settle()
  const bundles = [
    await registry.history(),
    await registry.history('none', 'none'),
    await registry.registry.proofs.bundle(scope, { externalId: 'e-1', fields: 'all', files: 'all', history: true }),
    await registry.history('all', 'all', 'e-2'),
    await registry.anyone('e-1'),
    await registry.anyone('e-1', file?.id),
    await registry.anyone('e-1', other?.id),
  ]
  await evidence({ externalId: 'e-3' })
  bundles.push(await registry.history('all', 'all', 'e-3'))
  const policy = await registry.policy()
  await registry.close()
  return { bundles, policy }
}

export interface MutationRun {
  readonly kind: MutationKind
  readonly count: number
  readonly seed: number
  /** For the files of authorities and ledger. */
  readonly directory: string
  /** Called now and then with the mutations so far. */
  readonly onProgress?: (done: number) => void
}

const PROGRESS_EVERY = 1_000

/**
 * Mutates bundles and verifies them: each claim of each result must be one of the original bundles, and nothing may
 * throw. The same seed makes the same mutations.
 */
export async function runMutations({ kind, count, seed, directory, onProgress }: MutationRun): Promise<void> {
  const { bundles, policy } = await makeBundles({ ...KINDS[kind], directory })
  const truth = new Set<string>()
  for (const bundle of bundles) {
    const result = verifyBundle(JSON.stringify(bundle), { policy, tokens })
    assert.ok('claims' in result)
    for (const fact of factsOf(result)) truth.add(fact)
  }
  const remembering = rememberingTokens()
  const random = randomFrom(seed)
  const states = new Map<string, number>()
  for (let i = 0; i < count; i++) {
    const text = mutate(random, bundles)
    const result = verifyBundle(text, { policy, tokens: remembering })
    states.set(result.state, (states.get(result.state) ?? 0) + 1)
    for (const fact of factsOf(result))
      assert.ok(truth.has(fact), `${kind}, seed ${seed}, mutation ${i} proves ${fact}\n${text}`)
    if (i % PROGRESS_EVERY === 0) onProgress?.(i)
  }
  assert.ok((states.get('refuted') ?? 0) > count / 10, JSON.stringify([...states]))
  assert.equal(states.has('consistent'), false)
}

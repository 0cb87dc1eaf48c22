import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { describe, it } from 'node:test'
import { pathToFileURL } from 'node:url'
import { isRegistryError } from '../../core/errors.ts'
import { parsePolicy, verifyBundle, verifyEvent, type BundleResult } from '../../core/verify/index.ts'
import { temporaryFor } from '../support/temporary.ts'
import { buildWebVerifier } from '../support/web-verifier.ts'
import type { BundleVector, EventVector } from './bundle-vectors.ts'
import { vectorFolder } from './make.ts'

/** The verifier, in Node or as a page has it. */
interface Verifier {
  readonly verify: (text: string, policy?: string) => BundleResult | Promise<BundleResult>
  readonly verifyEvent: typeof verifyEvent
}

const node: Verifier = {
  verify: (text, policy) => verifyBundle(text, policy === undefined ? {} : { policy: parsePolicy(policy) }),
  verifyEvent,
}

function vectorsOf<T>(kind: string): readonly (readonly [name: string, vector: T])[] {
  const files = readdirSync(join(vectorFolder, kind))
  return files.map((name) => [
    basename(name, '.json'),
    JSON.parse(readFileSync(join(vectorFolder, kind, name), 'utf8')),
  ])
}

async function assertVerdicts({ verify, verifyEvent: check }: Verifier): Promise<void> {
  for (const [name, { bundle, policy, expected }] of vectorsOf<BundleVector>('bundle')) {
    const result = await verify(JSON.stringify(bundle), policy && JSON.stringify(policy))
    const found = 'rule' in result ? { state: result.state, rule: result.rule } : { state: result.state }
    const { uncounted, ...verdict } = expected
    assert.deepEqual(found, verdict, name)
    assert.equal(result.unchecked.find(({ rule }) => rule !== undefined)?.rule, uncounted, name)
  }
  for (const [name, { disclosure, txId, origin, expected }] of vectorsOf<EventVector>('event')) {
    let found: object = { state: 'valid' }
    try {
      check(disclosure, { txId, origin })
    } catch (error) {
      assert.ok(isRegistryError(error, 'VERIFICATION_FAILED'))
      found = { state: 'refuted', rule: error.rule }
    }
    assert.deepEqual(found, expected, name)
  }
}

describe('the vectors of bundles and events', () => {
  it('are found as they say', () => assertVerdicts(node))

  it('are found as they say by the verifier for browsers', async (t) => {
    const directory = await temporaryFor(t)
    for (const { path, contents } of (await buildWebVerifier()).outputFiles)
      await writeFile(join(directory, basename(path)), contents)
    await writeFile(join(directory, 'package.json'), '{"type":"module"}')
    await import(pathToFileURL(join(directory, 'page.js')).href)
    await assertVerdicts(globalThis as unknown as Verifier)
  })
})

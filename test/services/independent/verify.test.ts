import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import type { Bundle } from '../../../core/index.ts'
import { parsePolicy, verifyBundle } from '../../../core/verify/index.ts'
import { tokens } from '../../../core/verify/tokens.ts'
import { openBundleRegistry, type BundleRegistry } from '../../support/bundle-fixture.ts'
import { compilePythonVerifier, skipPython, type PythonRun } from '../../support/python-verifier.ts'
import { temporaryOfSuite } from '../../support/temporary.ts'
import { ends } from '../../support/server-process.ts'

describe('the verifier in Python', { skip: skipPython }, () => {
  const directory = temporaryOfSuite()
  const python = compilePythonVerifier(directory)
  let registry: BundleRegistry
  let bundles: readonly Bundle[]
  let olderPolicy: string
  before(async () => {
    registry = await openBundleRegistry({ directory, authorities: [{ name: 'a' }, { name: 'b' }, { name: 'c' }] })
    const { evidence, stage, scope, settle } = registry
    await evidence({ owner: 'Ädá', files: [await stage('an original'), await stage('another')] })
    await settle()
    olderPolicy = JSON.stringify(await registry.registry.log.policy())
    await registry.rotate()
    await registry.registry.evidences.update(scope, 'e-1', { owner: 'Grace', meta: { a: [1, 'ü'] } })
    await settle()
    const [file, other] = (await registry.registry.evidences.files(scope, 'e-1')).evidence
    await registry.registry.files.delete(scope, { fileId: other?.id ?? '' })
    await settle()
    bundles = [
      await registry.history(),
      await registry.history('none', 'none'),
      await registry.registry.proofs.bundle(scope, { externalId: 'e-1', fields: 'all', files: 'none', history: true }),
      await registry.anyone('e-1'),
      await registry.anyone('e-1', file?.id),
      await registry.anyone('e-1', other?.id),
    ]
    await writeFile(join(directory, 'policy.json'), JSON.stringify(await registry.registry.log.policy()))
    await writeFile(join(directory, 'original'), 'an original')
  })
  after(async () => {
    await registry.close()
  })

  async function run(text: string | Uint8Array, ...args: readonly string[]): Promise<PythonRun> {
    const path = join(directory, 'bundle.evidence.json')
    await writeFile(path, text)
    return python.run([path, ...args])
  }
  const pinned = (): readonly string[] => ['--policy', join(directory, 'policy.json')]

  it('proves every kind of bundle', async () => {
    for (const bundle of bundles) {
      const { stdout } = await ends(0, run(JSON.stringify(bundle), ...pinned()))
      assert.match(stdout, /existed at \d{4}-/)
      assert.equal(verifyBundle(JSON.stringify(bundle), { policy: await registry.policy(), tokens }).state, 'proven')
    }
    const [first] = bundles
    const text = JSON.stringify(first)
    assert.equal((await run(text)).code, 3)
    assert.equal((await run(text, ...pinned(), '--file', join(directory, 'original'))).code, 0)
    assert.equal((await run(text, ...pinned(), '--file', join(directory, 'policy.json'))).code, 7)
  })

  it('agrees with the verifier about policies that do not know the key that signed', async () => {
    const [bundle] = bundles
    const text = JSON.stringify(bundle)
    const known = await registry.registry.log.policy()
    const cases = [
      [olderPolicy, 0, 'proven'],
      [olderPolicy.replace('"until":null', '"until":null,"compromised":true'), 5, 'newer-key'],
      [JSON.stringify({ ...known, keys: known.keys.slice(0, 1) }), 5, 'newer-key'],
      ['{"keys":[{"vkey":"sum.golang.org+033de0ae+Ac4zctda0e5eza+HJyk9SxEdh+s3Ux18htTTAD8OuAn8"}]}', 6, 'other-log'],
    ] as const
    for (const [policy, code, state] of cases) {
      await writeFile(join(directory, 'other.json'), policy)
      await ends(code, run(text, '--policy', join(directory, 'other.json')))
      assert.equal(verifyBundle(text, { policy: parsePolicy(policy), tokens }).state, state)
    }
  })

  /** An export with the hash that its last line must have. */
  function withHash(text: string): string {
    const lines = text.trimEnd().split('\n')
    const others = lines.slice(0, -1).map((line) => `${line}\n`)
    const sha256 = createHash('sha256').update(others.join('')).digest('hex')
    return [...others, `${lines.at(-1)?.replace(/"sha256":"\w+"/, `"sha256":"${sha256}"`)}\n`].join('')
  }

  it('agrees with the verifier about exports', async () => {
    let text = ''
    for await (const part of registry.registry.proofs.exportCompany(registry.scope)) text += part
    const crlf = `\uFEFF${text.replaceAll('\n', '\r\n')}\r\n`
    const [head = '', evidence = '', ...end] = text.split('\n')
    const again = [head, evidence, evidence.replace('"n":1', '"n":2'), ...end].join('\n')
    const countsTwo = again.replaceAll('"evidences":1', '"evidences":2')
    for (const [content, code] of [
      [text, 0],
      [crlf, 0],
      [`${head}\n${evidence}\n`, 2],
      [`${text}\u001a`, 2],
      [`${text}Kind regards\nAda\n`, 2],
      [`${text}${evidence}\n`, 1],
      [`${head}\n${evidence.slice(0, -9)}`, 2],
      [head.replace('"version":1', '"version":2'), 2],
      [[head.replace(/^\{/, '{ '), evidence, ...end].join('\n'), 2],
      [[head, evidence.replace('Grace', 'Greta'), ...end].join('\n'), 1],
      [JSON.stringify(bundles[0]), 2],
      // The hash in the last line is not signed, so a changed export can have the right one.
      [withHash(text.replace(/"company":"[^"]*"/, '"company":"other"')), 1],
      [withHash(text.replace(/"origin":"[^"]*"/, '"origin":"other.example/log"')), 1],
      [withHash(countsTwo), 1],
      [withHash(text.replace(/("evidences":1,"events":)\d+/, '$199')), 1],
      [Buffer.from(`\uFEFF${text}`, 'utf16le'), 2],
      [Buffer.from(text.replace('Grace', 'Gr\u00E4ce'), 'latin1'), 2],
    ] as const)
      await ends(code, run(content, '--export', ...pinned()))
  })

  it('agrees with the verifier about damaged bundles', async () => {
    const policy = await registry.policy()
    // A whole history, and what anyone gets of an evidence and of a deleted file.
    for (const bundle of [bundles[0], bundles[3], bundles[5]]) {
      const text = JSON.stringify(bundle)
      const damaged = [
        text.replace(/"position":(\d+)/, (_, position: string) => `"position":${Number(position) + 1}`),
        text.replace(/"opening":"(..)/, '"opening":"00'),
        text.replace(/"path":\["./, '"path":["x'),
        text.replace(
          /"subject":\{"type":"\w+","txId":"./,
          (match) => `${match.slice(0, -1)}${match.endsWith('0') ? '1' : '0'}`,
        ),
        text.replace(/"note":"[^\\]+\\n\d/, (match) => `${match}0`),
      ]
      const newer = text.replace('"version":1,', '"version":1,"more":1,')
      for (const each of [
        newer,
        text.replace('"version":1', '"version":2'),
        text.slice(0, -1),
        '{}',
        text.replace('"version":1', '"version":true'),
        text.replace('"path":', '"more":1,"path":'),
        text.replace('"path":', '"path?":[],"path":'),
        text.replace('"inclusion":', '"header":null,"inclusion":'),
        text.replaceAll('"cosignatures":[],', ''),
      ]) {
        assert.equal(verifyBundle(each, { policy, tokens }).state, 'unreadable')
        assert.equal((await run(each, ...pinned())).code, 2)
      }
      for (const each of damaged) {
        assert.equal(verifyBundle(each, { policy, tokens }).state, 'refuted')
        assert.equal((await run(each, ...pinned())).code, 1)
      }
    }
  })
})

import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { openAsBlob } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { createClient } from '../server/client/index.ts'
import { eventually } from './support/eventually.ts'
import { root } from './support/repository.ts'
import { runCli, ServerProcess } from './support/server-process.ts'
import { makeTemporary, removeTemporary } from './support/temporary.ts'

/**
 * `npm run demo [-- FILE]`: starts a server, records a file as an evidence, transfers it, waits until both events are
 * sealed, stamped and anchored, and verifies the proof with the command that a stranger would use. Then it changes one
 * digit of the proof, and the command refutes it. Ends with 1 if anything differs.
 */

const COMPANY = 'demo'
const [PROVEN, REFUTED] = [0, 1]
const EXTERNAL_ID = 'demo-1'

const say = (text: string): boolean => process.stdout.write(`${text}\n`)

/** Records, transfers and proves the file. The bundle and the policy are written to `directory`. */
async function demo(directory: string, url: string, operatorKey: string, path: string): Promise<void> {
  const baseUrl = `${url}/api/v1`
  const operator = createClient({ baseUrl, companyId: COMPANY, apiKey: operatorKey })
  const { apiKey } = await operator.createSourceSystem({ name: 'demo', permissions: 'U' })
  assert.ok(apiKey)
  const client = createClient({ baseUrl, companyId: COMPANY, apiKey })
  const { events } = await client.createEvidence({
    categoryName: 'Documents',
    subcategoryName: 'Files',
    externalId: EXTERNAL_ID,
    name: basename(path),
    owner: 'Ada',
    images: [{ name: basename(path), content: await openAsBlob(path) }],
  })
  say(`recorded ${path} as ${EXTERNAL_ID}, owner Ada: transaction ${events[0]?.txId}`)
  const updated = await client.updateEvidence({ externalId: EXTERNAL_ID, owner: 'Grace' })
  const txId = updated.events.at(-1)?.txId
  assert.ok(txId)
  say(`transferred it to Grace: transaction ${txId}`)
  await eventually(async () => {
    const proof = await client.getProof({ txId })
    return proof.status === 'ok' && proof.sendStatus === 'C'
  })
  say('both are sealed, stamped and anchored')

  const bundle = await (await client.getBundle({ externalId: EXTERNAL_ID, fields: 'all', files: 'all' })).text()
  const policy = await (await fetch(`${baseUrl}/log/policy`)).text()
  await writeFile(join(directory, 'policy.json'), policy)
  await verify(directory, 'demo.evidence.json', bundle, PROVEN)
  await verify(directory, 'changed.evidence.json', changeOneDigit(bundle), REFUTED)
}

/** Runs `evidence-registry verify` on a bundle, shows what it says, and checks its exit code. */
async function verify(directory: string, name: string, bundle: string, expected: number): Promise<void> {
  await writeFile(join(directory, name), bundle)
  const { code, stdout, stderr } = await runCli([
    'verify',
    join(directory, name),
    '--policy',
    join(directory, 'policy.json'),
  ])
  say(`\n$ npx --no-install evidence-registry verify ${name} --policy policy.json\n${stdout}`)
  assert.equal(code, expected, stderr)
}

/** Changes a digit of the first salt. */
const changeOneDigit = (text: string): string =>
  text.replace(/(?<="salt":")[0-9a-f]/, (digit) => (digit === '1' ? '2' : '1'))

const directory = await makeTemporary()
const operatorKey = randomBytes(32).toString('base64url')
const server = new ServerProcess(join(directory, 'data'), { EVIDENCE_OPERATOR_KEY: operatorKey })
try {
  await demo(directory, await server.ready(), operatorKey, process.argv[2] ?? join(root, 'README.md'))
  say('Read on in core/verify/README.md: the same checks with openssl and a few lines of shell.')
} finally {
  await server.stop()
  await removeTemporary(directory)
}

// Own process: takes long, because it installs packages.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { cp, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { before, describe, it } from 'node:test'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { build } from 'esbuild'
import { BASE_PATH } from '../../../server/index.ts'
import type { FileEntry } from '../../../server/contract/files.ts'
import { ofSuite } from '../../support/of-suite.ts'
import { root } from '../../support/repository.ts'
import { startService, type Company } from '../../support/service.ts'
import { temporaryOfSuite } from '../../support/temporary.ts'
import type { Outcome, Task } from './programs/task.ts'

const run = promisify(execFile)
const here = join(root, 'test/services/clients')

const hasRegistry = await run('npm', ['ping', '--fetch-retries=0']).then(
  () => true,
  () => false,
)
const skip = hasRegistry ? false : 'npm has no registry: set one with `npm config set registry URL`'

/** Not UTF-8, so that a client which reads a text would change them. */
const PHOTO = Uint8Array.from([0xff, 0xd8, 0xff, 0x00, 0x80, 0xc3, 0x28, 0x0d, 0x0a])
const file = (name: string, type: string, content: string | Uint8Array<ArrayBuffer>): File =>
  new File([content], name, { type })

describe('a client that a generator makes from the OpenAPI document alone', { skip }, () => {
  const directory = temporaryOfSuite()
  const service = ofSuite(() => startService({ sealMaxWaitMs: 3_600_000 }))
  let company: Company
  before(async () => {
    company = await service().company('acme')
    for (const name of ['package.json', 'package-lock.json']) await cp(join(here, name), join(directory, name))
    await cp(join(here, 'programs'), directory, { recursive: true })
    await run('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline'], { cwd: directory })
    const document = await (await service().fetch(`${BASE_PATH}/openapi.json`)).text()
    await writeFile(join(directory, 'openapi.json'), document)
    await run(process.execPath, ['generate.mjs'], { cwd: directory })
  })

  it('passes the type check', async () => {
    const compiler = join(directory, 'node_modules/typescript/bin/tsc')
    const { stdout } = await run(process.execPath, [compiler, '-p', directory]).catch(
      (error: { stdout: string }) => error,
    )
    assert.equal(stdout, '')
  })

  for (const client of ['openapi-fetch', 'hey-api', 'orval', 'swagger-fetch', 'swagger-axios'])
    it(`creates, lists, updates, gets, downloads and verifies: ${client}`, async () => {
      const outfile = join(directory, `with-${client}.mjs`)
      const entryPoints = [join(directory, `with-${client}.ts`)]
      await build({ entryPoints, outfile, bundle: true, format: 'esm', packages: 'external' })
      const program = (await import(pathToFileURL(outfile).href)) as { run: (task: Task) => Promise<Outcome> }
      const outcome = await program.run({
        baseUrl: `${service().url}${BASE_PATH}`,
        key: company.keys.U,
        externalId: client,
        photo: file('photo.jpg', 'image/jpeg', PHOTO),
        report: file('Prüfbericht.pdf', 'application/pdf', '%PDF-1.4'),
        receipt: file('receipt.csv', 'text/csv', 'a;b'),
      })
      const call = { key: company.keys.R, params: { COMPANY_ID: 'acme', EVIDENCE_EXTERNAL_ID: client } }
      const { dt } = await service().ok('listEvidenceFiles', call)
      assert.deepEqual(
        dt.map(({ name, mimeType, size }: FileEntry) => [name, mimeType, size]),
        [
          ['photo.jpg', 'image/jpeg', PHOTO.length],
          ['Prüfbericht.pdf', 'application/pdf', 8],
          ['receipt.csv', 'text/csv', 3],
        ],
      )
      const { object } = await service().ok('getEvidence', call)
      assert.deepEqual([object.name, object.meta], ['Grace', { colour: 'blue' }])
      assert.deepEqual([outcome.listed, outcome.events], [[client], ['create', 'addfile']])
      assert.deepEqual(new Uint8Array(outcome.content), PHOTO)
      assert.deepEqual([outcome.proof.status, outcome.proof.txId], ['pending', object.txId])
    })
})

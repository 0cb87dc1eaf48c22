import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { copyFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { it } from 'node:test'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import { build } from 'esbuild'
import { root } from '../../support/repository.ts'
import { startService } from '../../support/service.ts'
import { temporaryFor } from '../../support/temporary.ts'

const run = promisify(execFile)

/** orval and hey-api use JSON, which has no files, unless they are told not to. */
const GENERATE = `
import { writeFileSync } from 'node:fs'
import { createClient } from '@hey-api/openapi-ts'
import openapiTypescript, { astToString } from 'openapi-typescript'
import { generate } from 'orval'
import { generateApi } from 'swagger-typescript-api'
const input = './openapi.json'
writeFileSync('openapi-typescript.ts', astToString(await openapiTypescript(new URL(input, import.meta.url))))
await generateApi({ input, output: process.cwd(), fileName: 'swagger-typescript-api.ts', silent: true })
const override = { contentType: { include: ['multipart/form-data'] } }
const output = { target: './orval.ts', client: 'fetch', baseUrl: process.argv[2], override }
await generate({ input: { target: input }, output }, process.cwd())
const onlyForm = ({ requestBody: { content } }) => void delete content['application/json']
const operations = { 'POST /evidences/{COMPANY_ID}/evidence': onlyForm }
await createClient({ input, output: 'hey-api', logs: { level: 'silent' }, parser: { patch: { operations } },
  plugins: ['@hey-api/client-fetch', '@hey-api/typescript', '@hey-api/sdk'] })
`

/** Creates an evidence with each client. Returns the responses. */
const CREATE = `
import createFetchClient from 'openapi-fetch'
import type { paths } from './openapi-typescript.ts'
import * as heyApi from './hey-api/sdk.gen.ts'
import * as orval from './orval.ts'
import { Api } from './swagger-typescript-api.ts'
export async function create(baseUrl, key) {
  const headers = { 'X-API-Key': key }
  const bodyOf = (externalId) => ({
    categoryName: 'C', subcategoryName: 'S', externalId, name: externalId, meta: { a: 1 },
    image: new File(['png'], 'a.png', { type: 'image/png' }),
  })
  const formOf = (body) => {
    const form = new FormData()
    for (const [name, value] of Object.entries(body)) form.set(name, name === 'meta' ? JSON.stringify(value) : value)
    return form
  }
  const client = createFetchClient<paths>({ baseUrl, headers })
  const path = { COMPANY_ID: 'acme' }
  return Promise.all([
    client.POST('/evidences/{COMPANY_ID}/evidence', {
      params: { path }, body: bodyOf('openapi-typescript'), bodySerializer: formOf,
    }),
    heyApi.createEvidence({ baseUrl, headers, path, body: bodyOf('hey-api') }),
    orval.createEvidence('acme', bodyOf('orval'), { headers }),
    new Api({ baseUrl, baseApiParams: { headers } }).evidences.createEvidence('acme', bodyOf('swagger-typescript-api')),
  ])
}
`

it('generated clients create an evidence with a file each', async (t) => {
  const directory = await temporaryFor(t)
  const here = join(root, 'test/services/clients')
  for (const name of ['package.json', 'package-lock.json']) await copyFile(join(here, name), join(directory, name))
  const install = ['ci', '--ignore-scripts', '--no-audit', '--no-fund']
  const isInstalled = await run('npm', install, { cwd: directory }).then(
    () => true,
    () => false,
  )
  if (!isInstalled) return t.skip('the generators of clients cannot be installed: npm has no registry')
  const service = await startService({ sealMaxWaitMs: 3_600_000 })
  t.after(() => service.close())
  const { keys } = await service.company('acme')
  const baseUrl = `http://127.0.0.1:${service.port}/api/v1`
  const document = await (await service.fetch('/api/v1/openapi.json')).text()
  const files = { 'openapi.json': document, 'generate.mjs': GENERATE, 'create.ts': CREATE }
  for (const [name, text] of Object.entries(files)) await writeFile(join(directory, name), text)
  await run(process.execPath, ['generate.mjs', baseUrl], { cwd: directory })
  const outfile = join(directory, 'create.mjs')
  await build({ entryPoints: [join(directory, 'create.ts')], outfile, bundle: true, format: 'esm', platform: 'node' })
  const { create } = (await import(pathToFileURL(outfile).href)) as {
    create: (baseUrl: string, key: string) => Promise<unknown>
  }
  await create(baseUrl, keys.U)
  for (const externalId of ['openapi-typescript', 'hey-api', 'orval', 'swagger-typescript-api']) {
    const params = { COMPANY_ID: 'acme', EVIDENCE_EXTERNAL_ID: externalId }
    const { dt } = await service.ok('listEvidenceFiles', { key: keys.R, params })
    assert.deepEqual([dt[0]?.name, dt[0]?.mimeType], ['a.png', 'image/png'], externalId)
  }
  return undefined
})

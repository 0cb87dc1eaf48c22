// Makes clients of openapi.json in the working directory, as the documentation of each generator begins.
import { writeFile } from 'node:fs/promises'
import { createClient } from '@hey-api/openapi-ts'
import openapiTypescript, { astToString } from 'openapi-typescript'
import { generate } from 'orval'
import { generateApi } from 'swagger-typescript-api'
import ts from 'typescript'

const input = './openapi.json'
const blob = ts.factory.createTypeReferenceNode('Blob')
const transform = ({ format }) => (format === 'binary' ? blob : undefined)
const types = await openapiTypescript(new URL(input, `file://${process.cwd()}/`), { transform })
await writeFile('openapi-typescript.ts', astToString(types))
for (const httpClientType of ['fetch', 'axios'])
  await generateApi({
    input,
    output: process.cwd(),
    fileName: `swagger-${httpClientType}.ts`,
    httpClientType,
    silent: true,
  })
await generate({ input: { target: input }, output: { target: './orval.ts' } }, process.cwd())
await createClient({ input, output: 'hey-api', logs: { level: 'silent' } })

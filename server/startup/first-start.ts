import { randomBytes } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { writePrivateFile } from '../../adapters/files/index.ts'
import type { Logger, Registry } from '../../core/index.ts'
import { BASE_PATH } from '../http/segments.ts'
import { VERSION } from '../version.ts'

/** The registry that may be new, and how its operator reaches it. */
export interface FirstStart {
  readonly registry: Registry
  readonly logger: Logger
  readonly dataDir: string
  /** Address of the service, without the base path. */
  readonly url: string
}

/**
 * Creates the operator key, and shows it on the terminal, or writes it to `operator.key` if stderr is not a terminal.
 * If there is a key, tells the terminal where to sign in and with which key. Call it when the server listens: a key
 * that was set but never shown would be lost.
 */
export async function introduceOperator({ registry, logger, dataDir, url }: FirstStart): Promise<void> {
  if (registry.sourceSystems.hasOperatorKey()) {
    if (process.stderr.isTTY) process.stderr.write(welcomeBack(url))
    return
  }
  if (registry.status().writesRefused === 'READ_ONLY') return
  const operatorKey = randomBytes(32).toString('base64url')
  const setKey = (): Promise<boolean> => registry.sourceSystems.setOperatorKey(operatorKey, { onlyIfNone: true })
  if (process.stderr.isTTY) {
    if (await setKey()) process.stderr.write(welcome({ url, operatorKey }))
    return
  }
  const path = join(resolve(dataDir), 'operator.key')
  await writePrivateFile(path, `${operatorKey}\n`)
  if (await setKey())
    logger.info(
      { path },
      'first start: this file contains the operator key; keep the key elsewhere and delete the file',
    )
  // Another server on the same records has set its own key.
  else await rm(path)
}

/** The text of every later start. */
export const welcomeBack = (url: string): string => `
Evidence Registry ${VERSION} is running. The API with its documentation: ${url}/docs
The dashboard: ${url}/ui/
Sign in with the API key of a source system, or with the operator key, which the first start showed.

`

/**
 * The text of the first start: the addresses, the operator key, and four commands. They create a source system and an
 * evidence with a file, read the evidence, and show its proof once it is sealed.
 */
export function welcome({ url, operatorKey }: { readonly url: string; readonly operatorKey: string }): string {
  const api = `${url}${BASE_PATH}`
  const evidences = `${api}/evidences/demo`
  const key = randomBytes(18).toString('base64url')
  const curl = String.raw`curl -sS -w '\n'`
  const [operator, system] = [operatorKey, key].map((each) => `-H 'X-API-Key: ${each}'`)
  const json = "-H 'Content-Type: application/json'"
  const fields = "-F categoryName=Vehicles -F subcategoryName=Cars -F externalId=car-1 -F 'name=First car'"
  const file = 'images.items=@-;filename=hello.txt;type=text/plain'
  return `
Evidence Registry ${VERSION} is running. The API with its documentation: ${url}/docs
The dashboard: ${url}/ui/#/sign-in?company=demo

The operator key. It is shown only once, because only its hash is stored:

  ${operatorKey}

Four commands to begin with. They create a source system, create an evidence with a file, read the
evidence, and show its proof in a signed tree.

${curl} ${api}/sourceSystem/demo ${operator} ${json} -d '{"name":"first","apiKey":"${key}","permissions":"A"}'
echo hello | ${curl} ${evidences}/evidence ${system} ${fields} -F '${file}'
${curl} ${evidences}/evidence/car-1 ${system}
until ${curl} ${api}/merkle/verify/car-1 | grep '"status":"ok"'; do sleep 1; done

`
}

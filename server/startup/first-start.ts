import { randomBytes } from 'node:crypto'

/** A key of 256 random bits, as the service makes them. */
export const newOperatorKey = (): string => randomBytes(32).toString('base64url')

/**
 * What the first start tells a person: where it listens, the operator key, and four lines to paste. The lines make a
 * source system, an evidence with a file, read it, and verify it.
 */
export function welcome({ baseUrl, operatorKey }: { readonly baseUrl: string; readonly operatorKey: string }): string {
  const key = randomBytes(18).toString('base64url')
  const evidences = `${baseUrl}/evidences/demo`
  return `
Evidence Registry listens at ${baseUrl}

The operator key, shown this once (only its hash is kept):

  ${operatorKey}

Four lines to begin with: a source system, an evidence with a file, reading it, verifying it.

curl -sS ${baseUrl}/sourceSystem/demo -H 'X-API-Key: ${operatorKey}' -H 'Content-Type: application/json' -d '{"name":"first","apiKey":"${key}","permissions":"A"}'
echo hello | curl -sS ${evidences}/evidence -H 'X-API-Key: ${key}' -F categoryName=Vehicles -F subcategoryName=Cars -F externalId=car-1 -F 'name=First car' -F 'images.items=@-;filename=hello.txt;type=text/plain'
curl -sS ${evidences}/evidence/car-1 -H 'X-API-Key: ${key}'
curl -sS ${baseUrl}/merkle/verify/car-1

`
}

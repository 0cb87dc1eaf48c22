import { useEffect, useState } from 'preact/hooks'
import { Failure } from '../components/notice.tsx'
import { useSession } from '../session.ts'

/** Types that a browser shows without running anything in them. SVG and HTML are not among them. */
const INERT_IMAGES: ReadonlySet<string> = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'image/avif'])
const TEXTS: ReadonlySet<string> = new Set(['text/plain', 'text/csv', 'application/json'])
const MAX_TEXT_BYTES = 256 * 1024

export const canPreview = (mimeType: string): boolean => INERT_IMAGES.has(mimeType) || TEXTS.has(mimeType)

/**
 * An image from the registry, fetched with the key. Its type is one of the inert types, whatever the file holds: the
 * browser only decodes pixels from it.
 */
export function FileImage({ fileId, label }: { readonly fileId: string; readonly label: string }) {
  const { client } = useSession()
  const [url, setUrl] = useState<string>()
  const [error, setError] = useState<unknown>()
  useEffect(() => {
    const abort = new AbortController()
    let created: string | undefined
    const load = async (): Promise<void> => {
      const content = await (await client.downloadFile({ fileId }, { signal: abort.signal })).blob()
      if (abort.signal.aborted || !INERT_IMAGES.has(content.type)) return
      created = URL.createObjectURL(content)
      setUrl(created)
    }
    load().catch((failure: unknown) => {
      if (!abort.signal.aborted) setError(failure)
    })
    return () => {
      abort.abort()
      if (created !== undefined) URL.revokeObjectURL(created)
    }
  }, [client, fileId])
  if (error !== undefined) return <Failure error={error} />
  return url === undefined ? null : <img class="evidence-image" src={url} alt={label} />
}

interface FilePreviewProps {
  readonly fileId: string
  readonly mimeType: string
  readonly name: string
}

/** An image, or the beginning of a text. */
export function FilePreview({ fileId, mimeType, name }: FilePreviewProps) {
  if (INERT_IMAGES.has(mimeType)) return <FileImage fileId={fileId} label={name} />
  return <FileText fileId={fileId} />
}

function FileText({ fileId }: { readonly fileId: string }) {
  const { client } = useSession()
  const [text, setText] = useState('')
  const [error, setError] = useState<unknown>()
  useEffect(() => {
    const abort = new AbortController()
    client
      .downloadFile({ fileId }, { signal: abort.signal, headers: { Range: `bytes=0-${MAX_TEXT_BYTES - 1}` } })
      .then((response) => response.text())
      .then(setText)
      .catch((failure: unknown) => {
        if (!abort.signal.aborted) setError(failure)
      })
    return () => abort.abort()
  }, [client, fileId])
  return error === undefined ? <pre>{text}</pre> : <Failure error={error} />
}

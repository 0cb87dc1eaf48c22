import { useEffect, useRef, useState } from 'preact/hooks'
import type { Client } from '../../client/index.ts'
import { useSession } from '../session.ts'
import { Icon } from './icon.tsx'

/** Types that a browser shows without running anything in them. SVG and HTML are not among them. */
export const INERT_IMAGES: ReadonlySet<string> = new Set(
  ['png', 'jpeg', 'gif', 'webp', 'avif'].map((type) => `image/${type}`),
)
const MAX_BYTES = 2 * 1024 * 1024
const AT_ONCE = 6

let running = 0
const waiting: (() => void)[] = []

/** Runs at most six downloads at a time. */
async function inTurn<T>(work: () => Promise<T>): Promise<T> {
  if (running >= AT_ONCE) await new Promise<void>((resolve) => waiting.push(resolve))
  else running += 1
  try {
    return await work()
  } finally {
    const next = waiting.shift()
    if (next === undefined) running -= 1
    else next()
  }
}

/** A scaled image; `undefined` if the browser cannot show it. */
export const bitmapOf = async (content: Blob, width: number): Promise<ImageBitmap | undefined> =>
  INERT_IMAGES.has(content.type)
    ? createImageBitmap(content, { resizeWidth: width, resizeQuality: 'high' }).catch(() => undefined)
    : undefined

/** Scaled images of a session, by file and width. */
const scaled = new WeakMap<Client, Map<string, Promise<ImageBitmap | undefined>>>()

/** An image of a file, scaled; `undefined` if the browser cannot show it. Kept for the session. */
function scaledImage(client: Client, fileId: string, width: number): Promise<ImageBitmap | undefined> {
  const images = scaled.get(client) ?? new Map<string, Promise<ImageBitmap | undefined>>()
  scaled.set(client, images)
  const key = `${width}/${fileId}`
  const known = images.get(key)
  if (known !== undefined) return known
  const made = inTurn(async () => {
    const content = await (await client.downloadFile({ fileId })).blob()
    return bitmapOf(content, width)
  }).catch(() => undefined)
  images.set(key, made)
  return made
}

interface ThumbProps {
  /** `undefined` without an image. */
  readonly file: { readonly id: string; readonly mimeType?: string; readonly size?: number } | undefined
  readonly width?: number
  /** Empty: it is an ornament beside the name. */
  readonly label?: string
  readonly class?: string
}

/** A small image, loaded when it comes near the screen. The sign of a category, if it is large or of another type. */
export function Thumb({ file, width = 96, label, class: name = 'thumb' }: ThumbProps) {
  const { client } = useSession()
  const element = useRef<HTMLSpanElement>(null)
  const isNear = useNear(element)
  const [image, setImage] = useState<ImageBitmap>()
  const isShown = file !== undefined && INERT_IMAGES.has(file.mimeType ?? '') && (file.size ?? 0) <= MAX_BYTES
  useEffect(() => {
    setImage(undefined)
    if (!isShown || !isNear) return undefined
    let isNeeded = true
    void scaledImage(client, file.id, width).then((made) => isNeeded && setImage(made))
    return () => void (isNeeded = false)
  }, [client, file?.id, isShown, isNear])
  return (
    <span class={name} ref={element}>
      {image === undefined ? (
        <Icon name={file === undefined || !isShown ? 'tag' : 'camera'} />
      ) : (
        <Bitmap image={image} label={label} />
      )}
    </span>
  )
}

/** Whether an element has come near the screen. */
export function useNear(element: { readonly current: Element | null }): boolean {
  const [isNear, setNear] = useState(false)
  useEffect(() => {
    const observer = new IntersectionObserver(([entry]) => {
      if (entry?.isIntersecting !== true) return
      observer.disconnect()
      setNear(true)
    })
    if (element.current !== null) observer.observe(element.current)
    return () => observer.disconnect()
  }, [])
  return isNear
}

/** A canvas needs no address, which the policy of the page would have to allow. */
export function Bitmap({ image, label }: { readonly image: ImageBitmap; readonly label: string | undefined }) {
  const canvas = useRef<HTMLCanvasElement>(null)
  useEffect(() => {
    if (canvas.current === null) return
    canvas.current.width = image.width
    canvas.current.height = image.height
    canvas.current.getContext('2d')?.drawImage(image, 0, 0)
  }, [image])
  return <canvas ref={canvas} {...(label ? { role: 'img', 'aria-label': label } : { 'aria-hidden': true })} />
}
